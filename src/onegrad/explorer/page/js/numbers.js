// Numbers as people read them, and the places of a slider.

export const PLACES = 200; // of a slider, from its low to its high end

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Return a number in at most `digits` significant digits, large and small ones as a·10ⁿ. */
export function show(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    const power = `10${superscript(Number(exponent))}`;
    const factor = Number(mantissa);
    const text = factor === 1 ? power : factor === -1 ? `−${power}` : `${factor}·${power}`;
    return text.replace(/^-/, "−");
  }
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return String(Number(value.toFixed(Math.min(places, 12)))).replace(/^-/, "−");
}

function superscript(whole) {
  const digits = [...String(Math.abs(whole))].map((digit) => SUPERSCRIPTS[digit]).join("");
  return whole < 0 ? `⁻${digits}` : digits;
}

/** Return a share as per cent with its sign, as "+38 %". */
export function showPercent(share) {
  if (!Number.isFinite(share)) return "–";
  const percent = 100 * share;
  const size = Math.abs(percent);
  const digits = size >= 10 ? 0 : size >= 1 ? 1 : 2;
  const text = size.toFixed(digits);
  const sign = Number(text) === 0 ? "" : percent < 0 ? "−" : "+";
  return `${sign}${text} %`;
}

/** Return the value at a slider's place, rounded to what one would write. */
export function valueAt(place, { low, high, scale, kind }) {
  const t = place / PLACES;
  const raw = scale === "log" ? low * (high / low) ** t : low + (high - low) * t;
  if (kind === "count") return Math.round(Number(raw.toPrecision(3)));
  if (place <= 0) return low;
  if (place >= PLACES) return high;
  const cell = scale === "log" ? raw * Math.log(high / low) / PLACES : (high - low) / PLACES;
  const digits = Math.max(0, Math.ceil(-Math.log10(cell)));
  return Number(raw.toFixed(Math.min(digits, 12)));
}

/** Return the place of a value on a slider, inside its ends. */
export function placeOf(value, { low, high, scale }) {
  const t =
    scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(PLACES * Math.min(1, Math.max(0, Number.isFinite(t) ? t : 0)));
}

/** Return ticks of 1, 2, 5 times powers of ten inside [low, high], at most about `most`. */
export function logTicks(low, high, most = 8) {
  const ticks = (factors) => {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** e).toPrecision(3));
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) found.push(tick);
      }
    }
    return found;
  };
  for (const factors of [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]]) {
    const found = ticks(factors);
    if (found.length <= most) return found.length > 1 ? found : linearTicks(low, high, most);
  }
  const decades = ticks([1]);
  const stride = Math.ceil(decades.length / most);
  return decades.filter((_, i) => i % stride === 0);
}

/** Return round ticks inside [low, high], at most about `most`. */
export function linearTicks(low, high, most = 8) {
  const rough = (high - low) / most;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((s) => s >= rough * (1 - 1e-9));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

/** Return [low, high] with room around, for an axis of these values. */
export function paddedRange(low, high, log) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return log ? [0.1, 1] : [0, 1];
  if (log) {
    const room = Math.max(0.06 * Math.log10(high / low), 0.03);
    return [low / 10 ** room, high * 10 ** room];
  }
  const room = Math.max(0.06 * (high - low), 0.03 * Math.abs(high), 1e-12);
  const floor = low - room;
  return [low >= 0 && (floor < 0 || low < 0.35 * high) ? 0 : floor, high + room];
}

/** Return the range of y that shows every line, and every point with its bar; bands may leave it. */
export function yRange({ lines, points, logY }) {
  let [low, high] = [Infinity, -Infinity];
  const see = (value) => {
    if (!Number.isFinite(value) || (logY && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const line of lines) line.values.forEach(see);
  for (const { mean, stderr } of points) {
    const bar = 2 * (stderr ?? 0);
    [mean, mean + bar, Math.max(mean - bar, 0)].forEach(see); // errors are never negative
  }
  return paddedRange(low, high, logY);
}
