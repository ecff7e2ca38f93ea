// The last requests as curl commands and as a Python program, which read the key from RETORT_API_KEY, and how their answers
// were made.

import { base, hasKey } from "./api.js";
import { button, copy, download, element } from "./dom.js";

const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// Snippets read pictures from files, because their data URLs are long.
const pictureURL = /^data:image\/(\w+);base64,/;

function withoutPictures(body) {
  const files = [];
  const text = JSON.stringify(body, (_, value) => {
    const found = typeof value === "string" && pictureURL.exec(value);
    if (!found) return value;
    files.push({ kind: found[1], name: `picture${files.length + 1}.${found[1] === "jpeg" ? "jpg" : found[1]}` });
    return `\u0000${files.length - 1}\u0000`;
  });
  return { text, files };
}

function curl({ method = "POST", path, body, stream }) {
  const key = hasKey() ? ` -H "Authorization: Bearer $RETORT_API_KEY"` : "";
  if (body === undefined) return `curl ${shellQuote(base + path)}${key}`;
  const { text, files } = withoutPictures(body);
  const flags = `${stream ? "-N " : ""}${method === "POST" ? "" : `-X ${method} `}`;
  const contentType = "-H 'Content-Type: application/json'";
  const head = `curl ${flags}${shellQuote(base + path)}${key} ${contentType} \\\n  -d `;
  if (files.length === 0) return head + shellQuote(text);
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("$", "\\$")
    .replaceAll("`", "\\`")
    .replace(/\\\\u0000(\d+)\\\\u0000/g, (_, i) => `data:image/${files[i].kind};base64,$(base64 -w0 ${files[i].name})`);
  return `${head}@- <<JSON\n${escaped}\nJSON`;
}

// literal returns JSON as a Python literal.
function literal(value, indent = "") {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value)
        .filter(([, v]) => v !== undefined)
        .map(([k, v]) => `${JSON.stringify(k)}: ${literal(v, deeper)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const short = `${open}${parts.join(", ")}${close}`;
  if (short.length + indent.length < 90 && !short.includes("\n")) return short;
  return `${open}\n${parts.map((part) => deeper + part).join(",\n")},\n${indent}${close}`;
}

function python(requests) {
  const lines = [];
  const pictures = requests.some((r) => r.body && withoutPictures(r.body).files.length > 0);
  const streams = requests.some((r) => r.stream);
  if (pictures) lines.push("import base64");
  if (streams) lines.push("import json");
  if (hasKey()) lines.push("import os");
  lines.push("", "import requests", "", `base = ${JSON.stringify(base)}`);
  if (hasKey()) lines.push('headers = {"Authorization": "Bearer " + os.environ["RETORT_API_KEY"]}');
  const headers = hasKey() ? ", headers=headers" : "";
  if (pictures)
    lines.push(
      "",
      "def picture(name, kind):",
      '    return f"data:image/{kind};base64," + base64.b64encode(open(name, "rb").read()).decode()',
    );
  for (const r of requests) {
    if (r.python) {
      lines.push("", ...r.python);
      continue;
    }
    const name = r.name ?? "answer";
    if (r.body === undefined) {
      lines.push("", `${name} = requests.get(base + ${JSON.stringify(r.path)}${headers})`, `print(${name}.text)`);
      continue;
    }
    const { text, files } = withoutPictures(r.body);
    const body = literal(JSON.parse(text)).replace(
      /"\\u0000(\d+)\\u0000"/g,
      (_, i) => `picture(${JSON.stringify(files[i].name)}, ${JSON.stringify(files[i].kind)})`,
    );
    lines.push("", `body = ${body}`);
    if (r.stream) {
      lines.push(
        `with requests.post(base + ${JSON.stringify(r.path)}, json=body${headers}, stream=True) as events:`,
        "    events.raise_for_status()",
        "    for line in events.iter_lines():",
        '        if line.startswith(b"data: {"):',
        "            print(json.loads(line[6:]))",
      );
    } else {
      lines.push(
        `${name} = requests.post(base + ${JSON.stringify(r.path)}, json=body${headers})`,
        `${name}.raise_for_status()`,
        `${name} = ${name}.json()`,
        `print(${name})`,
      );
    }
  }
  while (lines[0] === "") lines.shift();
  return lines.join("\n");
}

// Snippets shows the last requests and the manifests of their answers.
export class Snippets {
  constructor(home) {
    this.home = home;
    this.kind = "curl";
    this.code = element("code");
    this.choice = ["curl", "Python"].map((kind) =>
      button(`As ${kind}`, () => this.choose(kind), { attributes: { "aria-pressed": String(kind === this.kind) } }),
    );
    this.manifests = [];
    this.manifestText = element("pre", { attributes: { tabindex: "0" } });
    const manifestCopier = button("Copy", () => copy(this.manifestText.textContent, manifestCopier), {
      className: "quiet",
    });
    this.made = element(
      "details",
      { hidden: true },
      element("summary", { textContent: "How this was made" }),
      element("p", {
        className: "hint",
        textContent: "Requests with defaults and seeds, models and versions. retort replay FILE compares new answers.",
      }),
      element(
        "div",
        { className: "actions" },
        manifestCopier,
        button("Download", () => download("manifest.json", "application/json", this.manifestText.textContent), {
          className: "quiet",
        }),
      ),
      this.manifestText,
    );
    const copier = button("Copy", () => copy(this.code.textContent, copier), { className: "quiet" });
    this.box = element(
      "section",
      { className: "snippet", hidden: true, attributes: { "aria-label": "The same from a program" } },
      element("div", { className: "actions" }, ...this.choice, copier),
      element("pre", { attributes: { tabindex: "0" } }, this.code),
      this.made,
    );
    home.append(this.box);
  }

  choose(kind) {
    this.kind = kind;
    this.choice.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === `As ${kind}`)));
    this.write();
  }

  show(...requests) {
    this.requests = requests;
    this.manifests = [];
    this.made.hidden = true;
    this.box.hidden = false;
    this.write();
  }

  // answered adds the manifests of answers.
  answered(...answers) {
    this.manifests.push(...answers.map((answer) => answer.manifest).filter(Boolean));
    this.made.hidden = this.manifests.length === 0;
    this.manifestText.textContent = this.manifests.map((manifest) => JSON.stringify(manifest, null, 2)).join("\n");
  }

  write() {
    if (!this.requests) return;
    this.code.textContent =
      this.kind === "curl" ? this.requests.map((r) => r.curl ?? curl(r)).join("\n\n") : python(this.requests);
  }
}
