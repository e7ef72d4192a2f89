import { Effect, Schema } from "effect"
import { type DatabaseSchema } from "../../domain/schema/DatabaseSchema.ts"
import { type OutlinedRelation } from "../../domain/schema/Outline.ts"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import { noPreferences } from "../../domain/rows/Preferences.ts"
import { queryPairs } from "../../domain/rows/parse/Parser.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { Branches } from "../branches/Branches.ts"
import { type Database, Db } from "../ports/Db.ts"
import { Rows } from "../rows/Rows.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { DatabaseSchemas, writeOutline } from "../schema/DatabaseSchemas.ts"
import { bounded, branchField, type McpCaller, placeOf, tool } from "./Tool.ts"

const [defaultRows, maxRows, maxQuery] = [100, 1000, 8000]

const schemaField = Schema.optionalKey(Schema.String.annotate({ description: "An exposed schema; default the first" }))
const List = Schema.Struct({ schema: schemaField, branch: branchField })
const Describe = Schema.Struct({ table: Schema.NonEmptyString, schema: schemaField, branch: branchField })
const Read = Schema.Struct({
  table: Schema.NonEmptyString,
  query: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(maxQuery)).annotate({
      description: `Filters as in GET /v1/db/{table}, such as select=id,name&age=gte.18&order=name.desc&limit=20; the limit is ${defaultRows} by default, and at most ${maxRows}`
    })
  ),
  schema: schemaField,
  branch: branchField
})

/** A model that has written reads what it wrote, which it cannot prove to a standby. */
const preferences = { ...noPreferences, consistency: "strong" } as const

/** A relation for an anon key or a user: the columns that they may select, and what they may write. */
const forClient = ({ columns, comment, delete: deletes, kind, name, schema }: OutlinedRelation) => ({
  schema,
  name,
  type: kind,
  comment,
  columns: columns
    .filter((column) => column.select || column.insert || column.update)
    .map(({ comment, default: initial, insert, name, not_null, select, sql, update }) => ({
      name,
      type: sql,
      nullable: !not_null,
      default: initial,
      comment,
      privileges: [...(select ? ["SELECT"] : []), ...(insert ? ["INSERT"] : []), ...(update ? ["UPDATE"] : [])]
    })),
  delete: deletes
})

/** Tools on tables, with the rights of the caller: what its role and the policies let it see. */
export const makeTableTools = Effect.gen(function* () {
  const rows = yield* Rows
  const schemas = yield* DatabaseSchemas
  const settings = yield* ExposedSchemas
  const database = placeOf(yield* Db, yield* Branches)
  const common = { reads: true, serviceRole: false, data: true }

  const schemaOf = Effect.fnUntraced(function* (given: string | undefined) {
    const [first] = settings.schemas
    if (given === undefined || settings.schemas.includes(given)) return given ?? first
    return yield* new InvalidRequest({
      error: `Invalid schema: ${shorten(given)}`,
      hint: `Only the following schemas are exposed: ${settings.schemas.join(", ")}`
    })
  })

  /** The relations of the exposed schemas: all of them with all properties for the service role. */
  const relations = Effect.fnUntraced(function* (place: Database, { actor }: McpCaller) {
    if (actor.role === "service_role") {
      const { tables, views } = JSON.parse(yield* schemas.describe(place)) as typeof DatabaseSchema.Type
      return [...tables, ...views]
    }
    let found: ReadonlyArray<ReturnType<typeof forClient>> = []
    const request = { database: place, actor, schemas: settings.schemas, whole: false }
    // eslint-disable-next-line require-yield
    yield* writeOutline(request, function* (outline) {
      found = outline.relations.map(forClient)
      return ""
    })
    return found
  })

  const list = tool({
    ...common,
    name: "list_tables",
    title: "List tables",
    description: "Lists the exposed schemas, and their tables and views.",
    input: List,
    run: Effect.fnUntraced(function* (caller, { branch, schema }) {
      if (schema !== undefined) yield* schemaOf(schema)
      const all = yield* relations(yield* database(caller, branch), caller)
      const tables = all.flatMap((relation) =>
        schema === undefined || relation.schema === schema
          ? [
              {
                schema: relation.schema,
                name: relation.name,
                type: relation.type,
                comment: relation.comment,
                ...("estimated_rows" in relation ? { estimated_rows: relation.estimated_rows } : {}),
                ...("row_level_security" in relation ? { row_level_security: relation.row_level_security.enabled } : {})
              }
            ]
          : []
      )
      return yield* bounded(JSON.stringify({ schemas: settings.schemas, tables }))
    })
  })

  const describe = tool({
    ...common,
    name: "describe_table",
    title: "Describe a table",
    description:
      "Describes a table or view: columns and comments; for a service_role key also keys, indexes, policies, grants, checks and triggers.",
    input: Describe,
    run: Effect.fnUntraced(function* (caller, { branch, schema, table }) {
      const wanted = yield* schemaOf(schema)
      const all = yield* relations(yield* database(caller, branch), caller)
      const found = all.find((relation) => relation.schema === wanted && relation.name === table)
      if (found !== undefined) return yield* bounded(JSON.stringify(found))
      return yield* new NotFound({ error: `No such table: ${shorten(table)}`, hint: "list_tables lists them" })
    })
  })

  const read = tool({
    ...common,
    name: "read_rows",
    title: "Read rows",
    description:
      "Reads rows of a table or view as JSON, with filters. Row-level security applies as for the caller's own requests.",
    input: Read,
    run: Effect.fnUntraced(function* (caller, { branch, query = "", schema, table }) {
      const place = yield* database(caller, branch)
      const wanted = yield* schemaOf(schema)
      const pairs = queryPairs(query)
      if (pairs === undefined) return yield* new InvalidRequest({ error: "query is not valid percent-encoded UTF-8" })
      const limits = pairs.filter(([name]) => name === "limit")
      const limit = limits.length === 0 ? defaultRows : Math.min(Number(limits.at(-1)?.[1]), maxRows)
      const others = pairs.filter(([name]) => name !== "limit")
      const answer = yield* rows.read({
        database: place,
        actor: caller.actor,
        schema: wanted,
        searchPath: settings.searchPath(wanted),
        table,
        query: [...others, ["limit", Number.isNaN(limit) ? (limits.at(-1)?.[1] ?? "") : String(limit)]],
        preferences,
        range: undefined,
        form: { media: "json", stripNulls: false, options: [], of: "json" },
        context: { method: "GET", path: `/${table}`, headers: "{}", cookies: "{}" }
      })
      return yield* bounded(String(answer.body))
    })
  })

  return [list, describe, read]
})
