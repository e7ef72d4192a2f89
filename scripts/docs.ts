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
  storageCodes
} from "../src/domain/codes/ManagementCodes.ts"
import { postgrestCodes } from "../src/domain/codes/PostgrestCodes.ts"
import { credentialCodes, requestCodes } from "../src/domain/codes/RequestCodes.ts"

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
  "Branches and backups": branchCodes,
  MCP: mcpCodes
}

const tableOf = (codes: Codes) =>
  [
    "| Code | Status | Meaning |",
    "|---|---|---|",
    ...Object.entries(codes).map(([code, [status, meaning]]) => `| \`${code}\` | ${status} | ${meaning} |`)
  ].join("\n")

const generated: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "docs/errors.md": {
    codes: () =>
      Object.entries(serviceCodes)
        .map(([heading, codes]) => `### ${heading}\n\n${tableOf(codes)}`)
        .join("\n\n"),
    postgrest: () => tableOf(postgrestCodes)
  }
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
