// Requests to the APIs, under their prefixes on this port.

import { Problem, problemOf } from "./problems.js";

const storageKey = "retort-key"; // in sessionStorage: of this tab only

// base is the URL of the page, so that it works behind a prefix.
export const base = new URL(".", document.baseURI).href.replace(/\/$/, "");

let keyDialog = null;

// askForKey shows the dialog for a key, once for all waiting requests. It resolves to false if no key is given.
function askForKey() {
  keyDialog ??= new Promise((resolve) => {
    const dialog = document.getElementById("key");
    const input = dialog.querySelector("input");
    dialog.querySelector(".problem").textContent = sessionStorage.getItem(storageKey) ? "This key is not known." : "";
    dialog.addEventListener(
      "close",
      () => {
        const key = input.value.trim();
        if (key) sessionStorage.setItem(storageKey, key);
        input.value = "";
        keyDialog = null;
        resolve(key !== "");
      },
      { once: true },
    );
    dialog.showModal();
  });
  return keyDialog;
}

export const hasKey = () => sessionStorage.getItem(storageKey) !== null;

// send sends a request. manifest asks for a manifest of the answer.
async function send(path, { method = "POST", body, signal, manifest } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(storageKey);
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    if (manifest) headers["X-Retort-Manifest"] = "true";
    if (key) headers.Authorization = `Bearer ${key}`;
    let response;
    try {
      response = await fetch(base + path, {
        method,
        headers,
        signal,
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, [], "The service cannot be reached. Is it still running?");
    }
    if (response.status !== 401) return response;
    if (sessionStorage.getItem(storageKey) === key && !(await askForKey())) return response;
  }
}

async function readProblem(response) {
  const text = await response.text();
  let body = text;
  try {
    body = JSON.parse(text);
  } catch {
    body = { detail: text.slice(0, 500) };
  }
  const problem = problemOf(response.status, body);
  const wait = response.headers.get("Retry-After");
  if (wait && response.status === 503) problem.message += ` Try again in ${wait} s.`;
  return problem;
}

export async function post(path, body, signal, { manifest = true } = {}) {
  const response = await send(path, { body, signal, manifest });
  if (!response.ok) throw await readProblem(response);
  return response.json();
}

export async function get(path, { text = false, signal } = {}) {
  const response = await send(path, { method: "GET", signal });
  if (!response.ok) throw await readProblem(response);
  return text ? response.text() : response.json();
}

// stream posts a body and calls onEvent with the parsed data of each server-sent event. Streams of chat have no manifest.
export async function stream(path, body, signal, onEvent) {
  const response = await send(path, { body, signal, manifest: path.endsWith("/generate") });
  if (!response.ok) throw await readProblem(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let buffer = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const events = buffer.split(/\r?\n\r?\n/);
    buffer = events.pop();
    for (const event of events) {
      const data = event
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      if (data === "" || data === "[DONE]") continue;
      const parsed = JSON.parse(data);
      if (parsed.detail !== undefined || parsed.error !== undefined || parsed.status === "failed")
        throw problemOf(response.status, parsed);
      onEvent(parsed);
    }
  }
}
