// The rules for the report's script, which runs as one: names of a file are known to the others.
const browser = ["window", "document", "performance", "ResizeObserver", "IntersectionObserver"];
const shared = ["node", "short", "MARKED", "drawCurve", "drawPlot", "pointWords", "nearestPoint", "neighbour"];
const names = [...browser, ...shared, "buildMap", "colourBar"];

export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "script",
      globals: Object.fromEntries(names.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "error",
      "no-unused-vars": ["error", { vars: "local" }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      eqeqeq: "error",
      curly: ["error", "multi-line"],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": ["error", { hoist: "never" }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "texts are set by textContent: nothing in them is markup" },
        { property: "outerHTML", message: "texts are set by textContent: nothing in them is markup" },
        { property: "insertAdjacentHTML", message: "texts are set by textContent" },
      ],
      complexity: ["error", 12],
      "max-len": ["error", { code: 130 }],
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
    },
  },
];
