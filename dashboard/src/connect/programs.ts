/** What a new program needs. `key` is a variable of the environment in programs, and the key itself in files of settings. */
export interface Access {
  readonly origin: string
  /** Undefined until one is created on the page. */
  readonly key: string | undefined
  /** The class of the key. */
  readonly type: "anon" | "service_role"
  /** A table to read, as its path names it; undefined without one. */
  readonly table: string | undefined
}

const tableOf = ({ table }: Access) => table ?? "your_table"
const keyOf = ({ key, type }: Access) => key ?? (type === "anon" ? "svc_pk_…" : "svc_sk_…")

export const programs = [
  ["env", ".env"],
  ["supabase", "supabase-js"],
  ["fetch", "fetch"],
  ["python", "Python"],
  ["curl", "curl"]
] as const
export type Program = (typeof programs)[number][0]

const env = (access: Access) => `API_URL=${access.origin}\nANON_KEY=${keyOf(access)}`

const supabase = (access: Access) =>
  [
    "// npm install @supabase/supabase-js",
    'import { createClient } from "@supabase/supabase-js"',
    "",
    "const client = createClient(process.env.API_URL, process.env.ANON_KEY)",
    `const { data, error } = await client.from(${JSON.stringify(tableOf(access))}).select().limit(5)`,
    "console.log(error ?? data)"
  ].join("\n")

const fetched = (access: Access) =>
  [
    `const response = await fetch(\`\${process.env.API_URL}/v1/db/${encodeURIComponent(tableOf(access))}?limit=5\`, {`,
    "  headers: { apikey: process.env.ANON_KEY }",
    "})",
    "console.log(response.status, await response.json())"
  ].join("\n")

const python = (access: Access) =>
  [
    "# pip install httpx",
    "import os",
    "import httpx",
    "",
    "response = httpx.get(",
    `    os.environ["API_URL"] + "/v1/db/${encodeURIComponent(tableOf(access))}?limit=5",`,
    '    headers={"apikey": os.environ["ANON_KEY"]},',
    ")",
    "print(response.status_code, response.text)"
  ].join("\n")

const curl = (access: Access) =>
  `curl "$API_URL/v1/db/${encodeURIComponent(tableOf(access))}?limit=5" -H "apikey: $ANON_KEY"`

const writers: Readonly<Record<Program, (access: Access) => string>> = {
  env,
  supabase,
  fetch: fetched,
  python,
  curl
}

/** The text of a program that reads five rows, or of its settings. */
export const programOf = (program: Program, access: Access) => writers[program](access)

export const assistants = [
  ["claude", "Claude Code"],
  ["cursor", "Cursor"],
  ["vscode", "VS Code"],
  ["codex", "Codex"],
  ["gemini", "Gemini CLI"],
  ["zed", "Zed"],
  ["windsurf", "Windsurf"],
  ["other", "Other"]
] as const
export type Assistant = (typeof assistants)[number][0]

const json = (value: unknown) => JSON.stringify(value, null, 2)

/** Where the settings of an assistant are, and what they have. */
export const assistantSettings = (
  assistant: Assistant,
  access: Access
): { readonly place: string; readonly text: string } => {
  const url = `${access.origin}/mcp`
  const authorization = `Bearer ${keyOf(access)}`
  const headers = { Authorization: authorization }
  switch (assistant) {
    case "claude":
      return {
        place: "Run in the folder of the project:",
        text: `claude mcp add --transport http svc ${url} --header "Authorization: ${authorization}"`
      }
    case "cursor":
      return { place: "In .cursor/mcp.json of the project:", text: json({ mcpServers: { svc: { url, headers } } }) }
    case "vscode":
      return {
        place: "In .vscode/mcp.json of the project:",
        text: json({ servers: { svc: { type: "http", url, headers } } })
      }
    case "codex":
      return {
        place: "In ~/.codex/config.toml:",
        text: `[mcp_servers.svc]\nurl = "${url}"\nhttp_headers = { Authorization = "${authorization}" }`
      }
    case "gemini":
      return { place: "In ~/.gemini/settings.json:", text: json({ mcpServers: { svc: { httpUrl: url, headers } } }) }
    case "zed":
      return { place: "In the settings of Zed:", text: json({ context_servers: { svc: { url, headers } } }) }
    case "windsurf":
      return {
        place: "In ~/.codeium/windsurf/mcp_config.json:",
        text: json({ mcpServers: { svc: { serverUrl: url, headers } } })
      }
    case "other":
      return {
        place: "Most clients read this form, with streamable HTTP:",
        text: json({ mcpServers: { svc: { type: "http", url, headers } } })
      }
  }
}
