// Chat: messages with pictures, answers as they are written.

import { stream } from "./api.js";
import { button, element } from "./dom.js";
import { picture } from "./drawing.js";
import { Run } from "./run.js";
import { offerModels } from "./service.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";

const most = 8; // pictures of a message

export function chat(view) {
  const form = view.querySelector("form");
  const text = form.elements.text;
  const log = view.querySelector(".messages");
  const tray = view.querySelector(".pictures");
  const state = new State("chat", form);
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  let messages = []; // as the API takes them
  let pictures = []; // data URLs
  offerModels(form.elements.model, "chat").catch(() => {});

  // Pictures: chosen, dropped, pasted or drawn.
  const chooser = form.querySelector("input[type=file]");
  chooser.addEventListener("change", () => {
    add(chooser.files);
    chooser.value = "";
  });
  view.addEventListener("dragover", (event) => {
    event.preventDefault();
    view.classList.add("dropping");
  });
  view.addEventListener("dragleave", () => view.classList.remove("dropping"));
  view.addEventListener("drop", (event) => {
    event.preventDefault();
    view.classList.remove("dropping");
    add(event.dataTransfer.files);
  });
  text.addEventListener("paste", (event) => add(event.clipboardData.files));
  form.querySelector("[data-draw-picture]").addEventListener("click", async () => {
    const { draw } = await import("./editor.js");
    const drawn = await draw("");
    if (drawn) hold(await picture(drawn));
  });

  async function add(files) {
    for (const file of [...files]) { // the list itself is emptied meanwhile
      if (file.type.startsWith("image/")) hold(await read(file));
    }
  }

  function hold(address) {
    if (pictures.length < most) pictures.push(address);
    showTray();
  }

  function showTray() {
    tray.replaceChildren(...pictures.map((src, i) => element("figure", {}, element("img", { src, alt: `Picture ${i + 1}` }),
      button("✕", () => {
        pictures.splice(i, 1);
        showTray();
      }, { attributes: { "aria-label": `Remove picture ${i + 1}` } }))));
  }

  // Enter sends, as elsewhere; with Shift it is a new line.
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.querySelector("[data-clear]").addEventListener("click", () => {
    run.control?.abort();
    messages = [];
    pictures = [];
    log.replaceChildren();
    showTray();
    view.querySelector(".empty").hidden = false;
  });

  // bubble shows a message; its text is text, whatever a model writes.
  function bubble(role, said, shown = []) {
    const words = element("div", { className: "words", textContent: said });
    const box = element("div", { className: `message ${role}` }, ...shown.map((src, i) => element("img", { src, alt: `Picture ${i + 1}` })), words);
    log.append(box);
    view.querySelector(".empty").hidden = true;
    box.scrollIntoView({ block: "nearest" });
    return words;
  }

  async function work(signal, say) {
    const said = text.value.trim();
    if (said === "" && pictures.length === 0) {
      say("Write a message or add a picture.");
      return;
    }
    const content = [...pictures.map((url) => ({ type: "image_url", image_url: { url } })), ...(said ? [{ type: "text", text: said }] : [])];
    const asked = [...messages, { role: "user", content }];
    const body = { model: form.elements.model.value, messages: asked, stream: true };
    snippets.show({ path: "/v1/chat/completions", body, stream: true });
    const mine = bubble("user", said, pictures).parentElement;
    const answer = bubble("assistant", "");
    const sent = pictures;
    pictures = [];
    text.value = "";
    showTray();
    let heard = "";
    run.stopped = () => "Stopped.";
    try {
      await stream("/v1/chat/completions", body, signal, (chunk) => {
        heard += chunk.choices?.[0]?.delta?.content ?? "";
        answer.textContent = heard;
        answer.scrollIntoView({ block: "nearest" });
      });
      say("Done.");
    } catch (problem) {
      if (heard === "") { // nothing was said: the message can be mended and sent again
        mine.remove();
        answer.parentElement.remove();
        pictures = sent;
        text.value = said;
        showTray();
      }
      throw problem;
    } finally {
      if (heard !== "") messages = [...asked, { role: "assistant", content: heard }];
    }
  }

  const run = new Run(form, work, { names: { text: "messages" }, link: () => state.link() });
  return { state };
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
