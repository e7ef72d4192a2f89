import { quoted } from "../wire/curl.ts"
import type { Call } from "./calls.ts"
import { jsOf, propertyOf, pythonOf } from "./values.ts"

export const clients = [
  ["curl", "curl"],
  ["fetch", "fetch"],
  ["postgrest", "postgrest-js"],
  ["python", "Python"],
  ["go", "Go"]
] as const
export type Client = (typeof clients)[number][0]

/** As whom a request is made. */
export const callers = [
  ["anon", "anon key"],
  ["user", "signed-in user"],
  ["service_role", "service_role key"]
] as const
export type Caller = (typeof callers)[number][0]

/** Where a request goes, and as whom. No secret is part of it: keys are variables of the environment. */
export interface Target {
  readonly origin: string
  readonly caller: Caller
  /** Of a schema that is not the default one. */
  readonly profile: string | undefined
  /** The branch that is worked on. */
  readonly branch: string | undefined
}

const variableOf = (caller: Caller) => (caller === "service_role" ? "SERVICE_KEY" : "ANON_KEY")

/** Readable, as the grammar of queries is: only what must be encoded is. */
const readable: Readonly<Record<string, string>> = {
  "%2C": ",",
  "%28": "(",
  "%29": ")",
  "%3A": ":",
  "%21": "!",
  "%2A": "*"
}
export const urlOf = ({ path, query }: Pick<Call, "path" | "query">) => {
  const text = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")
  return `${path}${text === "" ? "" : `?${text.replaceAll(/%(?:2C|28|29|3A|21|2A)/g, (code) => readable[code] ?? code)}`}`
}

/** Headers that the call needs with every client, besides the credentials. */
export const headersOf = ({ body, headers, method }: Call, profile: string | undefined) => ({
  ...headers,
  ...(profile === undefined ? {} : { [method === "GET" ? "accept-profile" : "content-profile"]: profile }),
  ...(body === undefined ? {} : { "content-type": "application/json" })
})

const curl = (call: Call, { branch, caller, origin, profile }: Target) =>
  [
    `curl${call.method === "GET" || call.method === "POST" ? "" : ` -X ${call.method}`} ${quoted(origin + urlOf(call))}`,
    `-H "apikey: $${variableOf(caller)}"`,
    ...(caller === "user" ? ['-H "authorization: Bearer $USER_TOKEN"'] : []),
    ...(branch === undefined ? [] : [`-H 'x-svc-branch: ${branch}'`]),
    ...Object.entries(headersOf(call, profile)).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(call.body === undefined ? [] : [`-d ${quoted(JSON.stringify(call.body))}`])
  ].join(" \\\n  ")

/** The headers of every request as properties of an object in JavaScript. */
const credentials = ({ branch, caller }: Target) => [
  `apikey: process.env.${variableOf(caller)}`,
  ...(caller === "user" ? ["authorization: `Bearer ${process.env.USER_TOKEN}`"] : []),
  ...(branch === undefined ? [] : [`"x-svc-branch": "${branch}"`])
]

const fetchOf = (call: Call, target: Target) => {
  const { origin, profile } = target
  const headers = [
    ...credentials(target),
    ...Object.entries(headersOf(call, profile)).map(([name, value]) => `${propertyOf(name)}: ${JSON.stringify(value)}`)
  ]
  return [
    `const response = await fetch(${JSON.stringify(origin + urlOf(call))}, {`,
    ...(call.method === "GET" ? [] : [`  method: ${JSON.stringify(call.method)},`]),
    ...(headers.length === 1
      ? [`  headers: { ${headers[0] ?? ""} }${call.body === undefined ? "" : ","}`]
      : ["  headers: {", `    ${headers.join(",\n    ")}`, `  }${call.body === undefined ? "" : ","}`]),
    ...(call.body === undefined ? [] : [`  body: JSON.stringify(${jsOf(call.body)})`]),
    "})",
    call.silent === true ? "console.log(response.status)" : "console.log(response.status, await response.json())"
  ].join("\n")
}

const postgrest = ({ chain }: Call, target: Target) => {
  const { origin, profile } = target
  const headers = credentials(target)
  return [
    'import { PostgrestClient } from "@supabase/postgrest-js"',
    "",
    `const db = new PostgrestClient(${JSON.stringify(`${origin}/v1/db`)}, {`,
    `  headers: { ${headers.join(", ")} }`,
    "})",
    `const { data, error } = await db${profile === undefined ? "" : `.schema(${JSON.stringify(profile)})`}`,
    `  ${chain}`,
    "console.log(error ?? data)"
  ].join("\n")
}

const python = (call: Call, { branch, caller, origin, profile }: Target) => {
  const headers = [
    `"apikey": os.environ["${variableOf(caller)}"]`,
    ...(caller === "user" ? [`"authorization": "Bearer " + os.environ["USER_TOKEN"]`] : []),
    ...(branch === undefined ? [] : [`"x-svc-branch": "${branch}"`]),
    ...Object.entries(headersOf(call, profile)).map(([name, value]) => `"${name}": ${pythonOf(value)}`)
  ]
  return [
    "import os",
    "import httpx",
    "",
    "response = httpx.request(",
    `    "${call.method}",`,
    `    ${pythonOf(origin + urlOf(call))},`,
    "    headers={",
    ...headers.map((header) => `        ${header},`),
    "    },",
    ...(call.body === undefined ? [] : [`    json=${pythonOf(call.body)},`]),
    ")",
    "print(response.status_code, response.text)"
  ].join("\n")
}

/** A text as it is written in Go. The escapes of JSON are among Go's. */
const goText = (text: string) => (/^[^`\r]*["\\][^`\r]*$/.test(text) ? `\`${text}\`` : JSON.stringify(text))

const go = (call: Call, { branch, caller, origin, profile }: Target) => {
  const set = (name: string, value: string) => `\trequest.Header.Set("${name}", ${value})`
  const failing = ["\tif err != nil {", "\t\tpanic(err)", "\t}"]
  return [
    "package main",
    "",
    "import (",
    ...["fmt", "io", "net/http", "os", ...(call.body === undefined ? [] : ["strings"])].map((name) => `\t"${name}"`),
    ")",
    "",
    "func main() {",
    ...(call.body === undefined ? [] : [`\tbody := strings.NewReader(${goText(JSON.stringify(call.body))})`]),
    `\trequest, err := http.NewRequest("${call.method}", ${goText(origin + urlOf(call))}, ${call.body === undefined ? "nil" : "body"})`,
    ...failing,
    set("apikey", `os.Getenv("${variableOf(caller)}")`),
    ...(caller === "user" ? [set("authorization", `"Bearer "+os.Getenv("USER_TOKEN")`)] : []),
    ...(branch === undefined ? [] : [set("x-svc-branch", `"${branch}"`)]),
    ...Object.entries(headersOf(call, profile)).map(([name, value]) => set(name, goText(value))),
    "\tresponse, err := http.DefaultClient.Do(request)",
    ...failing,
    "\tdefer response.Body.Close()",
    "\tanswer, err := io.ReadAll(response.Body)",
    ...failing,
    "\tfmt.Println(response.Status, string(answer))",
    "}"
  ].join("\n")
}

const writers: Readonly<Record<Client, (call: Call, target: Target) => string>> = {
  curl,
  fetch: fetchOf,
  postgrest,
  python,
  go
}

/** The call as the text of a program. */
export const snippetOf = (client: Client, call: Call, target: Target) => writers[client](call, target)
