import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")
const catalogue = readFileSync(join(root, "docs/errors.md"), "utf8")

/** The places of error codes in the source: `code: "…"`, `problem(…, 404, "…")`, `refused("text", "…")`, and the tables of plain responses. */
const written = [
  /\bcode: "([^"]+)"/g,
  /\bproblem<\w+>\(\)\(\s*"\w+",\s*\d+,\s*"([^"]+)"/g,
  /\bcode = "([^"]+)"/g,
  /"((?!SVC_|Z_|WEBHOOK_|MIGRATIONS_|UND_ERR_|ERR_)(?:PGRST\d{3}|[A-Z]+(?:_[A-Z]+)*_(?:INVALID|EXPIRED|VALID|AUDIENCE|CONFIGURED|LARGE|HTTP|ALLOWED|TIMEOUT|ERROR)))"/g
]

const codes = new Map<string, string>()
for (const file of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
  // The S3 endpoint responds in the format of S3, with the codes of S3.
  if (!file.endsWith(".ts") || file.startsWith(join("layers", "storage", "endpoint"))) continue
  const source = readFileSync(join(root, "src", file), "utf8")
  for (const form of written) {
    for (const [, code = ""] of source.matchAll(form)) if (/^[A-Z\d_]+$/.test(code)) codes.set(code, file)
  }
}

it("finds the codes in the source", () => {
  assert.includeMembers(
    [...codes.keys()],
    [
      "INVALID_REQUEST",
      "RATE_LIMITED",
      "JWT_EXPIRED",
      "HEADERS_TOO_LARGE",
      "INTERNAL_ERROR",
      "PGRST205",
      "POOL_EXHAUSTED"
    ]
  )
})

it.each([...codes])("%s (%s) is in docs/errors.md", (code) => {
  assert.match(catalogue, new RegExp(`^\\|[^|]*\`${code}\`|\\(\`${code}\`\\)`, "m"))
})
