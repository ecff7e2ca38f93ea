// Requests to the APIs, below their prefixes on this port: the page needs no other origin.

import { Problem, problemOf } from "./problems.js";

const storage = "retort-key"; // of this tab only

// Requests are relative to the page, so that it works behind a prefix.
export const base = new URL(".", document.baseURI).href.replace(/\/$/, "");

let asking = null;

// askForKey shows the dialog for a key once, however many requests wait for it; false where none was given.
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key");
    const input = dialog.querySelector("input");
    dialog.querySelector(".problem").textContent = sessionStorage.getItem(storage) ? "This key is not known." : "";
    dialog.addEventListener("close", () => {
      const given = input.value.trim();
      if (given) sessionStorage.setItem(storage, given);
      input.value = "";
      asking = null;
      resolve(given !== "");
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

export const hasKey = () => sessionStorage.getItem(storage) !== null;

async function send(path, { method = "POST", body, signal } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(storage);
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    if (key) headers.Authorization = `Bearer ${key}`;
    let response;
    try {
      response = await fetch(base + path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, [], "The service cannot be reached. Is it still running?");
    }
    if (response.status !== 401) return response;
    if (sessionStorage.getItem(storage) === key && !(await askForKey())) return response;
  }
}

async function refusal(response) {
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

export async function post(path, body, signal) {
  const response = await send(path, { body, signal });
  if (!response.ok) throw await refusal(response);
  return response.json();
}

export async function get(path, { text = false, signal } = {}) {
  const response = await send(path, { method: "GET", signal });
  if (!response.ok) throw await refusal(response);
  return text ? response.text() : response.json();
}

// stream posts and calls back with the data of each server-sent event, parsed.
export async function stream(path, body, signal, heard) {
  const response = await send(path, { body, signal });
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let waiting = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const events = waiting.split(/\r?\n\r?\n/);
    waiting = events.pop();
    for (const event of events) {
      const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      if (data === "" || data === "[DONE]") continue;
      const parsed = JSON.parse(data);
      if (parsed.detail !== undefined || parsed.error !== undefined || parsed.status === "failed") throw problemOf(response.status, parsed);
      heard(parsed);
    }
  }
}
