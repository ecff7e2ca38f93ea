// Chat: messages with pictures, and answers while they arrive.

import { post, stream } from "./api.js";
import { button, element } from "./dom.js";
import { describe, drawing, drawPNG } from "./drawing.js";
import { Run } from "./run.js";
import { fillModels, overview } from "./service.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";

const maxPictures = 8; // in a message
const readerEntry = "molecule_reader"; // in the model repository: reads molecules, and knows how sure it is
const sure = 0.8; // from this confidence on, its answers have no warning

// readingForm requests facts about what the reader read from each picture.
const readingForm = (properties) => ({
  type: "json_schema",
  json_schema: { name: "readings", schema: { type: "array", items: { type: "object", properties } } },
});

export function chat(view) {
  const form = view.querySelector("form");
  const text = form.elements.text;
  const log = view.querySelector(".messages");
  const tray = view.querySelector(".pictures");
  const state = new State("chat", form);
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  let messages = []; // of the request
  let pictures = []; // data URLs
  fillModels(form.elements.model, "chat").catch(() => {});

  // Pictures: chosen, dropped, pasted or drawn.
  const chooser = form.querySelector("input[type=file]");
  chooser.addEventListener("change", () => {
    addFiles(chooser.files);
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
    addFiles(event.dataTransfer.files);
  });
  text.addEventListener("paste", (event) => addFiles(event.clipboardData.files));
  form.querySelector("[data-draw-picture]").addEventListener("click", async () => {
    const { draw } = await import("./editor.js");
    const drawn = await draw("");
    if (drawn) addPicture(await drawPNG(drawn));
  });

  async function addFiles(files) {
    for (const file of [...files]) {
      // a copy, because the list is cleared meanwhile
      if (file.type.startsWith("image/")) addPicture(await readAsDataURL(file));
    }
  }

  function addPicture(address) {
    if (pictures.length < maxPictures) pictures.push(address);
    showTray();
  }

  function showTray() {
    tray.replaceChildren(
      ...pictures.map((src, i) =>
        element(
          "figure",
          {},
          element("img", { src, alt: `Picture ${i + 1}` }),
          button(
            "✕",
            () => {
              pictures.splice(i, 1);
              showTray();
            },
            { attributes: { "aria-label": `Remove picture ${i + 1}` } },
          ),
        ),
      ),
    );
  }

  // Enter sends the message; Shift+Enter starts a new line.
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

  // bubble shows a message. Its text is never interpreted as HTML.
  function bubble(role, message, shown = []) {
    const words = element("div", { className: "words", textContent: message });
    const box = element(
      "div",
      { className: `message ${role}` },
      ...shown.map((src, i) => element("img", { src, alt: `Picture ${i + 1}` })),
      words,
    );
    log.append(box);
    view.querySelector(".empty").hidden = true;
    box.scrollIntoView({ block: "nearest" });
    return words;
  }

  // showReadings shows drawings of the molecules that the reader read from the pictures of a conversation, with its
  // confidence, to be compared with the pictures. A picture without a molecule has none. Several molecules of the only
  // picture have numbers, which are also shown in it.
  async function showReadings(answerBubble, questionBubble, model, conversation, signal) {
    const { models } = (await overview()).apis.find((api) => api.name === "chat");
    if (models.find((each) => each.id === model)?.entry !== readerEntry) return;
    const read = async (properties) => {
      const body = { model, messages: conversation, response_format: readingForm(properties) };
      const answer = await post("/v1/chat/completions", body, signal);
      return JSON.parse(answer.choices[0].message.content);
    };
    const readings = await read({
      smiles: { type: "string" },
      confidence: { type: "number" },
      box: { type: "array", items: { type: "integer" } },
    });
    const sent = conversation.flatMap(({ content }) => content).filter((part) => part.type === "image_url");
    const isPage = sent.length === 1 && readings.length > 1;
    if (isPage) showBoxes(questionBubble.querySelector("img"), readings);
    const size = { width: 220, height: 160, dark: false };
    const rows = await describe(readings.map((reading) => reading.smiles), {}, size, signal);
    // CXSMILES, with labels such as R1, is drawn only by the reader.
    const drawn = rows.some((row) => row.error) ? await read({ drawing: { type: "string" } }) : [];
    const figures = rows.map((row, i) => {
      const { smiles } = readings[i];
      const src = drawn[i]?.drawing; // null if the server cannot draw
      const ofReader = src
        ? element("img", { src, alt: smiles, className: "drawing", draggable: false })
        : element("code", { textContent: smiles });
      const shown = row.error ? ofReader : drawing(row, smiles);
      const percent = Math.floor(100 * readings[i].confidence);
      const words = percent < 100 * sure ? `Not sure (${percent} %): is this your drawing?` : `Read as this (${percent} %)`;
      return element(
        "figure",
        { className: percent < 100 * sure ? "reading unsure" : "reading" },
        shown,
        element("figcaption", { textContent: isPage ? `${i + 1}. ${words}` : words }),
      );
    });
    answerBubble.append(element("div", { className: "readings" }, ...figures));
    answerBubble.scrollIntoView({ block: "nearest" });
  }

  async function work(signal, say) {
    const message = text.value.trim();
    if (message === "" && pictures.length === 0) {
      say("Write a message or add a picture.");
      return;
    }
    const content = [
      ...pictures.map((url) => ({ type: "image_url", image_url: { url } })),
      ...(message ? [{ type: "text", text: message }] : []),
    ];
    const conversation = [...messages, { role: "user", content }];
    const body = { model: form.elements.model.value, messages: conversation, stream: true };
    snippets.show({ path: "/v1/chat/completions", body, stream: true });
    const userBubble = bubble("user", message, pictures).parentElement;
    const answer = bubble("assistant", "");
    const sentPictures = pictures;
    pictures = [];
    text.value = "";
    showTray();
    let reply = "";
    run.stopped = () => "Stopped.";
    try {
      await stream("/v1/chat/completions", body, signal, (chunk) => {
        reply += chunk.choices?.[0]?.delta?.content ?? "";
        answer.textContent = reply;
        answer.scrollIntoView({ block: "nearest" });
      });
      if (sentPictures.length > 0) {
        const bubbles = [answer.parentElement, userBubble];
        await showReadings(...bubbles, body.model, conversation, signal).catch(() => {}); // nothing was read
      }
      say("Done.");
    } catch (problem) {
      if (reply === "") {
        // no answer: the user can correct the message and send it again
        userBubble.remove();
        answer.parentElement.remove();
        pictures = sentPictures;
        text.value = message;
        showTray();
      }
      throw problem;
    } finally {
      if (reply !== "") messages = [...conversation, { role: "assistant", content: reply }];
    }
  }

  const run = new Run(form, work, { names: { text: "messages" }, link: () => state.link() });
  return { state };
}

// showBoxes numbers the drawings in a picture.
function showBoxes(image, readings) {
  const share = (pixels, whole) => `${(100 * pixels) / whole}%`;
  const boxes = readings.map(({ box: [left, top, right, bottom] }, i) => {
    const box = element("span", { className: "box", textContent: i + 1 });
    box.style.left = share(left, image.naturalWidth);
    box.style.top = share(top, image.naturalHeight);
    box.style.width = share(right - left, image.naturalWidth);
    box.style.height = share(bottom - top, image.naturalHeight);
    return box;
  });
  const frame = element("div", { className: "boxed" });
  image.replaceWith(frame);
  frame.append(image, ...boxes);
}

function readAsDataURL(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
