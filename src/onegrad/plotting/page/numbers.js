// Numbers as people read them, and the ticks of an axis.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Return a number in at most `digits` significant digits, large and small ones as a·10ⁿ. */
export function show(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value === 0 || (size > 1e-4 && size < 1e6)) {
    const places = value === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return String(Number(value.toFixed(Math.min(places, 12)))).replace("-", "−");
  }
  return showPower(value, digits);
}

function showPower(value, digits) {
  const [factor, exponent] = value.toExponential(digits - 1).split("e").map(Number);
  const raised = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");
  const power = `10${exponent < 0 ? "⁻" : ""}${raised}`;
  if (Math.abs(factor) === 1) return factor < 0 ? `−${power}` : power;
  return `${factor}·${power}`.replace("-", "−");
}

/** Return a share as per cent with its sign, as "+38 %". */
export function showPercent(share) {
  if (!Number.isFinite(share)) return "–";
  const percent = 100 * share;
  const size = Math.abs(percent);
  const text = size.toFixed(size >= 10 ? 0 : size >= 1 ? 1 : 2);
  const sign = Number(text) === 0 ? "" : percent < 0 ? "−" : "+";
  return `${sign}${text} %`;
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
