import { qualifiedName, quoteName, writtenSql } from "../catalogue/names.ts"
import type { Column, Table } from "../catalogue/queries.ts"

export type Policy = Table["policies"][number]
export type Command = Policy["command"]

export const commands: ReadonlyArray<Command> = ["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]

/** Which rows a command sees, and which rows it may write: not every command does both. */
export const hasUsing = (command: Command) => command !== "INSERT"
export const hasCheck = (command: Command) => command !== "SELECT" && command !== "DELETE"

export interface Draft {
  readonly name: string
  readonly command: Command
  readonly permissive: boolean
  /** Empty: everyone. */
  readonly roles: ReadonlyArray<string>
  readonly using: string
  readonly check: string
}

/** The statement that makes a policy. Its expressions are SQL: a user who may create policies may run any SQL. */
export const createSql = (table: Table, draft: Draft): string =>
  [
    `create policy ${quoteName(draft.name)} on ${qualifiedName(table)}`,
    ...(draft.permissive ? [] : ["  as restrictive"]),
    `  for ${draft.command.toLowerCase()}`,
    `  to ${draft.roles.length === 0 ? "public" : draft.roles.map(quoteName).join(", ")}`,
    ...(hasUsing(draft.command) && draft.using.trim() !== "" ? [`  using (${writtenSql(draft.using)})`] : []),
    ...(hasCheck(draft.command) && draft.check.trim() !== "" ? [`  with check (${writtenSql(draft.check)})`] : [])
  ].join("\n")

export const dropSql = (table: Table, policy: string) => `drop policy ${quoteName(policy)} on ${qualifiedName(table)}`

export const securitySql = (table: Table, on: boolean) =>
  `alter table ${qualifiedName(table)} ${on ? "enable" : "disable"} row level security`

/** Columns that usually name the owner of a row, the best first. */
const owners = ["owner", "owner_id", "user_id", "author_id", "created_by", "sub"]

const ownerColumn = ({ columns }: Table): Column | undefined =>
  owners.map((name) => columns.find((column) => column.name === name)).find((column) => column !== undefined) ??
  columns.find(({ type }) => type === "uuid") ??
  columns[0]

/** `(select …)`: PostgreSQL then evaluates it once for a statement, not once for a row. */
const isCaller = ({ name, type }: Column) =>
  type === "uuid"
    ? `${quoteName(name)} = (select auth.uid())`
    : type === "text" || type.startsWith("character varying")
      ? `${quoteName(name)} = (select auth.sub())`
      : `${quoteName(name)}::text = (select auth.sub())`

export interface Template {
  readonly name: string
  readonly words: string
  readonly draft: (table: Table) => Draft
}

const common = { permissive: true, check: "", using: "true" } as const

export const templates: ReadonlyArray<Template> = [
  {
    name: "Own rows",
    words: "A signed-in user reads and writes the rows that are theirs",
    draft: (table) => {
      const column = ownerColumn(table)
      const rule = column === undefined ? "false" : isCaller(column)
      return {
        ...common,
        name: `own ${table.name}`,
        command: "ALL",
        roles: ["authenticated"],
        using: rule,
        check: rule
      }
    }
  },
  {
    name: "Public read",
    words: "Everyone reads all rows, also without signing in",
    draft: (table) => ({ ...common, name: `public ${table.name}`, command: "SELECT", roles: ["anon", "authenticated"] })
  },
  {
    name: "Signed-in read",
    words: "Signed-in users read all rows",
    draft: (table) => ({ ...common, name: `read ${table.name}`, command: "SELECT", roles: ["authenticated"] })
  },
  {
    name: "By claim",
    words: "Users whose token has a claim, such as a role, do everything",
    draft: (table) => {
      const rule = "(select auth.jwt() ->> 'role') = 'admin'"
      return {
        ...common,
        name: `admins of ${table.name}`,
        command: "ALL",
        roles: ["authenticated"],
        using: rule,
        check: rule
      }
    }
  }
]

/** Whether a policy applies to a role; `public` is everyone. */
export const appliesTo = ({ roles }: Policy, role: string) => roles.some((one) => one === role || one === "public")
