// Rules for the explorer's and the report's scripts: plain modules of a browser, nothing from elsewhere.
const browser = [
  "AbortController", "Blob", "CSS", "CustomEvent", "Image", "ImageData", "IntersectionObserver", "ResizeObserver",
  "TextDecoderStream", "URL", "URLSearchParams", "addEventListener", "clearTimeout", "crypto",
  "document", "fetch", "getComputedStyle", "history", "localStorage", "location",
  "matchMedia", "navigator", "performance", "setTimeout",
];
const node = ["ReadableStream", "TextEncoder", "setImmediate"]; // what tests use beside

export default [
  { ignores: ["**/.venv/**"] },
  {
    files: ["src/onegrad/*/page/**/*.js", "tests/explorer/**/*.js"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: Object.fromEntries([...browser, ...node].map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "complexity": ["error", 14],
      "consistent-return": "error",
      "eqeqeq": "error",
      "max-lines": ["error", 400],
      "no-console": "error",
      "no-dupe-keys": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-redeclare": "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) =>
          ({ property, message: "strings are set by textContent: nothing in them is markup" })),
      ],
      "no-shadow": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-vars": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
];
