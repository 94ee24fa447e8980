// The colours of all pictures in a browser: of series, of what surrounds them, of maps.

// Colours of Okabe and Ito in the order of matplotlib's pictures, adjusted for each background.
export const COLOURS = {
  light: {
    series: ["#0072b2", "#d55e00", "#56b4e9", "#000000", "#009e73", "#b0588c"],
    ink: "#1c1f24", text: "#56616d", grid: "#e2e5e9", paper: "#ffffff",
    grey: "#6b6f76", red: "#cc0000", warm: "#a84900",
  },
  dark: {
    series: ["#2f95d3", "#e8772e", "#8fd0f5", "#e8eaed", "#2fbf98", "#dd9cc0"],
    ink: "#e8eaed", text: "#a3aeb9", grid: "#2b323b", paper: "#171c23",
    grey: "#9aa0a9", red: "#ff6b6b", warm: "#f0a04b",
  },
};

// Whole numbers on a map, and a cell that has none of them.
export const LEVEL_COLOURS = [
  [247, 247, 247], [217, 217, 217], [189, 189, 189], [107, 174, 214], [33, 113, 181], [8, 48, 107],
];
export const NO_LEVEL = [213, 94, 0];

// Cividis at eleven places: brightness alone gives the order.
const CIVIDIS = [
  [0, 34, 78], [8, 51, 112], [53, 69, 108], [79, 87, 108], [102, 105, 112], [125, 124, 120],
  [148, 142, 119], [174, 163, 113], [200, 184, 102], [229, 207, 82], [254, 232, 56],
];

/** Return the colour of a share in [0, 1] as [red, green, blue]. */
export function cividis(share) {
  const place = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(place));
  return CIVIDIS[low].map((part, i) => Math.round(part + (place - low) * (CIVIDIS[low + 1][i] - part)));
}
