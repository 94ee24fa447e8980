// Requests to the server that the page came from; there is no other host.

const GONE = "server: does not answer; start onegrad explore again and open its new address";

/** An answer that is no success: `status`, and the server's line as message. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Return whether an error only says that the page gave a request up for a newer one. */
export function superseded(error) {
  return error.name === "AbortError";
}

/** Return `get`, `post` and `stream`, all with the token; the server gives up what is aborted. */
export function connect(token) {
  const headers = { "X-Onegrad-Token": token };

  async function send(path, options) {
    const response = await fetch(path, { cache: "no-store", ...options }).catch((error) => {
      throw error.name === "AbortError" ? error : new Refusal(0, GONE);
    });
    if (!response.ok) throw new Refusal(response.status, await reason(response));
    return response;
  }

  const posted = (body, signal) => ({
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

  return {
    get: async (path) => (await send(path, { headers })).json(),
    post: async (path, body, signal) => (await send(path, posted(body, signal))).json(),
    stream: async (path, body, signal, onLine) => {
      const response = await send(path, posted(body, signal));
      await readLines(response.body, onLine);
    },
  };
}

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `status ${response.status}`;
  }
}

/** Call `onLine` with the value of every line of a stream of JSON lines. */
export async function readLines(body, onLine) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) onLine(JSON.parse(line));
    if (done) return;
  }
}
