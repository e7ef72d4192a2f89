/** `npm run docs:generate`: writes the parts of docs/ that repeat the source, between `<!-- name -->` and `<!-- /name -->`. */
import { readFileSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { accountCodes, oauth2Codes } from "../src/domain/codes/AccountCodes.ts"
import { eventCodes, mcpCodes, rowCodes } from "../src/domain/codes/DatabaseCodes.ts"
import {
  branchCodes,
  environmentCodes,
  flagCodes,
  migrationCodes,
  scheduleCodes,
  queueCodes,
  storageCodes,
  workspaceCodes
} from "../src/domain/codes/ManagementCodes.ts"
import { postgrestCodes } from "../src/domain/codes/PostgrestCodes.ts"
import { credentialCodes, requestCodes } from "../src/domain/codes/RequestCodes.ts"
import { Contract, document } from "../src/http/OpenApi.ts"

type Codes = Readonly<Record<string, readonly [status: number | string, meaning: string]>>

/** The codes of the service by the heading of their table. */
export const serviceCodes: Readonly<Record<string, Codes>> = {
  Requests: requestCodes,
  "Keys, tokens and cookies": credentialCodes,
  "Rows, functions and SQL": rowCodes,
  "Realtime, webhooks and functions": eventCodes,
  "Accounts and sign-in": accountCodes,
  "OAuth 2.0": oauth2Codes,
  "Object storage": storageCodes,
  "Feature flags": flagCodes,
  "Environments, connections and foreign data": environmentCodes,
  Migrations: migrationCodes,
  Queues: queueCodes,
  "Branches and backups": branchCodes,
  Schedules: scheduleCodes,
  Workspace: workspaceCodes,
  MCP: mcpCodes
}

const tableOf = (codes: Codes) =>
  [
    "| Code | Status | Meaning |",
    "|---|---|---|",
    ...Object.entries(codes).map(([code, [status, meaning]]) => `| \`${code}\` | ${status} | ${meaning} |`)
  ].join("\n")

/** The credential that an endpoint requires: by its middleware, or by the OpenAPI document for those on the router itself. */
const credentialOf = (middlewares: ReadonlySet<{ readonly key: string }>, operation: Operation) => {
  const names = new Set(Array.from(middlewares, ({ key }) => key.replace("svc/http/", "")))
  if (names.has("Management") || names.has("ServiceRole")) return "service_role"
  if (/^(?:Requires a|For) service_role key/.test(operation.description ?? "")) return "service_role"
  if (names.has("AnyKeyOrSession")) return "any key or session"
  if (operation.security?.[0] === undefined) return "no credentials"
  return operation.security.some((way) => "apikey" in way) ? "any key" : "a session"
}

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: ReadonlyArray<string>
  readonly security?: ReadonlyArray<object>
}

/** The summary of the request that a page's own form sends. */
const ofForm = "Submit the form of that page"

/** The endpoints of the contract by the tag of their group, as a list. */
const endpoints = () => {
  const { paths } = document()
  const all = Object.values(Contract.groups)
    .flatMap((group) => Object.values(group.endpoints))
    .map(({ method, middlewares, path }) => {
      const template = path.replaceAll(/:(\w+)/g, "{$1}")
      const operation: Operation = paths[template]?.[method.toLowerCase() as "get"] ?? {}
      const { summary = "", tags = [] } = operation
      return { method, path: template, summary, tag: tags[0] ?? "", credential: credentialOf(middlewares, operation) }
    })
  const byTag = Map.groupBy(all, ({ tag }) => tag)
  return Array.from(byTag, ([tag, inTag]) => {
    const credentials = new Set(inTag.map(({ credential }) => credential))
    const [first, ...others] = credentials
    const lines = inTag
      .filter(({ summary }) => summary !== ofForm)
      .map(({ credential, method, path, summary }) => {
        const form = inTag.some((other) => other.path === path && other.summary === ofForm) ? ", `POST`" : ""
        return `- \`${method} ${path}\`${form}: ${summary}${others.length === 0 ? "" : `; ${credential}`}`
      })
    return [`### ${tag}${others.length === 0 ? `: ${first}` : ""}`, "", ...lines].join("\n")
  }).join("\n\n")
}

const generated: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "docs/errors.md": {
    codes: () =>
      Object.entries(serviceCodes)
        .map(([heading, codes]) => `### ${heading}\n\n${tableOf(codes)}`)
        .join("\n\n"),
    postgrest: () => tableOf(postgrestCodes)
  },
  "docs/endpoints.md": { endpoints }
}

const root = resolve(import.meta.dirname, "..")

/** The pages as they are, and as they should be. */
export const generatedPages = () =>
  Object.entries(generated).map(([path, parts]) => {
    const current = readFileSync(resolve(root, path), "utf8")
    const wanted = Object.entries(parts).reduce((page, [name, make]) => {
      const [before, rest] = page.split(`<!-- ${name} -->`, 2)
      const after = rest?.split(`<!-- /${name} -->`, 2)[1]
      if (before === undefined || after === undefined) throw new Error(`${path} has no place for ${name}`)
      return `${before}<!-- ${name} -->\n\n${make()}\n\n<!-- /${name} -->${after}`
    }, current)
    return { path, current, wanted }
  })

if (import.meta.main) {
  for (const { path, wanted } of generatedPages()) writeFileSync(resolve(root, path), wanted)
}
