import { type JsonSchema } from "./Types.ts"

const text = { type: "string" }

const query = (name: string, description: string, schema: JsonSchema = text) => ({
  name,
  in: "query",
  description,
  schema
})

const header = (name: string, description: string, schema: JsonSchema = text) => ({
  name,
  in: "header",
  description,
  schema
})

/** Parameters shared by all paths, by the names of their components. */
export const parameters = {
  select: query(
    "select",
    "Columns and embedded relations, comma-separated: `id,name,author(name)`; `alias:column`, `column::type`, `column->key`. Default: all columns."
  ),
  order: query("order", "Columns to sort by, comma-separated: `name.asc.nullslast,id.desc`"),
  limit: query("limit", "Maximum number of rows", { type: "integer", minimum: 0 }),
  offset: query("offset", "Number of rows to skip", { type: "integer", minimum: 0 }),
  and: query("and", "Filters that must all match: `(a.gt.1,or(b.is.null,b.lt.5))`"),
  or: query("or", "Filters of which at least one must match: `(a.gt.1,b.is.null)`"),
  columns: query("columns", "The keys of the body to use, comma-separated; others are ignored"),
  on_conflict: query(
    "on_conflict",
    "Columns of the unique key that identifies existing rows. Default: the primary key."
  ),
  range: header("Range", "First and last row, counted from 0: `0-24`"),
  profile: header("Accept-Profile", "The schema to use"),
  contentProfile: header("Content-Profile", "The schema to use"),
  preferRead: header(
    "Prefer",
    "`count=exact`, `count=planned` or `count=estimated` adds the total to Content-Range; `max-cell=400` cuts values with more characters and names them in `$cut`"
  ),
  preferInsert: header(
    "Prefer",
    "`return=representation|minimal|headers-only`, `resolution=merge-duplicates|ignore-duplicates`, `missing=default|null`"
  ),
  preferWrite: header("Prefer", "`return=representation|minimal|headers-only`; `handling=strict,max-affected=<rows>`")
}

export type ParameterName = keyof typeof parameters

export const parameterRef = (component: string) => ({ $ref: `#/components/parameters/${component}` })

/** Query parameters that are not filters. */
export const reserved: ReadonlySet<string> = new Set(
  Object.values(parameters).flatMap((one) => (one.in === "query" ? [one.name] : []))
)

const errorText = { type: ["string", "null"] }

export const errorSchema: JsonSchema = {
  type: "object",
  required: ["error", "code", "message", "details", "hint", "request_id"],
  properties: {
    error: text,
    code: { ...text, description: "SQLSTATE, PGRSTnnn or a name" },
    message: text,
    details: {},
    hint: errorText,
    request_id: text
  }
}

export const responses = {
  Failed: {
    description: "Any failure",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }
  },
  Done: { description: "Success, without a body" }
}

export const failedResponse = { $ref: "#/components/responses/Failed" }
export const done = { $ref: "#/components/responses/Done" }

const contentRange = { "Content-Range": { $ref: "#/components/headers/Content-Range" } }

export const headers = {
  "Content-Range": { description: "The range of these rows and the total: `0-24/573`, `*/0`", schema: text }
}

/** A response with any number of rows. */
export const rowsAnswer = (description: string, row: JsonSchema) => ({
  description,
  headers: contentRange,
  content: {
    "application/json": { schema: { type: "array", items: row } },
    "application/vnd.pgrst.object+json": { schema: row },
    "text/csv": { schema: text }
  }
})

export const securitySchemes = {
  apikey: { type: "apiKey", in: "header", name: "apikey", description: "An API key" },
  bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "The user's JWT" }
}

export const security = [{ apikey: [] }, { apikey: [], bearer: [] }]

export const description = `Rows and stored functions of one schema for which the caller's role has privileges; \`Accept-Profile\` selects another schema.

Filters are query parameters named after columns, \`<operator>.<value>\`: eq, neq, gt, gte, lt, lte, like, ilike, match, imatch, is, isdistinct, in, cs, cd, ov, sl, sr, nxr, nxl, adj, fts, plfts, phfts, wfts; the prefix \`not.\` negates one. Updating and deleting rows requires at least one filter.`
