import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { alterSql, createSql } from "../../../dashboard/src/tables/alter/statements.ts"
import { draftOf, newColumn, newTable } from "../../../dashboard/src/tables/alter/draft.ts"
import { alterEnumSql, createEnumSql, dropEnumSql, enumValue } from "../../../dashboard/src/catalogue/sql/enums.ts"
import { createExtensionSql, dropExtensionSql } from "../../../dashboard/src/catalogue/sql/extensions.ts"
import {
  createFunctionSql,
  dropFunctionSql,
  type FunctionDraft,
  newArgument,
  pathOf,
  pathText
} from "../../../dashboard/src/catalogue/sql/functions.ts"
import { createIndexSql, dropIndexSql, type IndexDraft, newPart } from "../../../dashboard/src/catalogue/sql/indexes.ts"
import { createSchemaSql, dropSchemaSql } from "../../../dashboard/src/catalogue/sql/schemas.ts"
import { createTriggerSql, dropTriggerSql } from "../../../dashboard/src/catalogue/sql/triggers.ts"
import { type DatabaseSchema } from "../../../src/domain/schema/DatabaseSchema.ts"
import { databaseSchemaSql } from "../../../src/domain/schema/DatabaseSchemaSql.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"

/** Names that end what they stand in, or that PostgreSQL could read differently. */
const odd = [
  `a"b'c`,
  `x"; drop table canary; --`,
  `x'); drop table canary; --`,
  `x\\'; drop table canary; --`,
  "two\nlines",
  "ünïcode 🙂 表",
  "$body$",
  "*/ drop table canary /*",
  "select",
  " spaces "
]

const schema = `s"x'; drop table canary; --`

const index: IndexDraft = {
  schema,
  table: "",
  name: "",
  method: "btree",
  unique: false,
  parts: [],
  include: [],
  where: "",
  concurrently: false
}
const fn: FunctionDraft = {
  kind: "function",
  schema,
  name: "",
  arguments: [],
  returns: "text",
  language: "plpgsql",
  volatility: "stable",
  parallel: "safe",
  strict: true,
  definer: true,
  path: [],
  body: "",
  comment: ""
}

const suite = layer(layerDatabase({ name: "schema_forms", before: "create table public.canary (id int)" }), live)

/**
 * All statements are run as one text, in which PostgreSQL runs whatever a name has turned into a statement; the service's
 * own endpoint refuses several.
 */
for (const strings of ["on", "off"]) {
  suite(`The statements of the dashboard's forms, standard_conforming_strings ${strings}`, (it) => {
    it.effect(
      "make what is named, whatever the names are",
      Effect.fn(function* () {
        const ask = yield* session
        yield* ask(
          `set standard_conforming_strings = ${strings}; set backslash_quote = on; set escape_string_warning = off`
        )
        const run = (statements: ReadonlyArray<string>) => ask(statements.join(";\n"))
        yield* run(createSchemaSql(schema, odd.join("\n")))
        assert.deepStrictEqual(
          yield* ask("select obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = $1", [
            schema
          ]),
          [{ comment: odd.join("\n") }]
        )
        for (const name of odd) {
          const columns = odd.map((column) => newColumn({ name: column, comment: name }))
          yield* run(createSql({ ...newTable(schema), name, comment: name, columns }))
          yield* run([
            createIndexSql({
              ...index,
              table: name,
              name: `i${name}`,
              parts: odd.slice(0, 2).map(newPart),
              include: [name]
            }),
            createIndexSql({
              ...index,
              table: name,
              name: `j${name}`,
              unique: true,
              parts: [{ ...newPart("length('--') -- all"), kind: "expression", descending: true, nulls: "last" }],
              where: "true -- not one"
            })
          ])
          const bodyOf = (result: string) =>
            `begin return ${result}; end -- ${name.replaceAll("\n", "")} $body$ $body1$ $body`
          const comment = `It's ${name}`
          yield* run(
            createFunctionSql(
              {
                ...fn,
                name,
                body: bodyOf("'x'"),
                comment,
                path: odd,
                arguments: [newArgument({ name: `v${name}`, type: "int -- number", default: "1 -- one" })]
              },
              undefined
            )
          )
          yield* run(
            createFunctionSql(
              {
                ...fn,
                name: `t${name}`,
                returns: "trigger",
                strict: false,
                definer: false,
                path: undefined,
                body: bodyOf("new")
              },
              undefined
            )
          )
          yield* run([
            createTriggerSql({
              schema,
              table: name,
              name,
              timing: "before",
              events: ["update", "insert"],
              columns: odd,
              each: "row",
              when: `new.* is not null -- ${"all"}`,
              function: { schema, name: `t${name}` },
              arguments: odd
            })
          ])
          const [found] = yield* ask(
            `select p.prosrc, p.proconfig[1] as path, obj_description(p.oid) as comment, pg_get_function_identity_arguments(p.oid) as identity,
               p.proargnames[1] as argument
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1 and p.proname = $2`,
            [schema, name]
          )
          assert.strictEqual(found?.["comment"], comment)
          assert.strictEqual(found?.["argument"], `v${name}`)
          assert.deepStrictEqual(pathOf(String(found?.["path"]).slice("search_path=".length)), odd)
          assert.deepStrictEqual(pathOf(pathText(odd)), odd)
          const [trigger] = yield* ask(
            `select t.tgargs, (select array_agg(a.attname::text order by a.attnum) from unnest(t.tgattr::int2[]) n join pg_attribute a on a.attrelid = c.oid and a.attnum = n) as columns
             from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relname = $1 and t.tgname = $1`,
            [name]
          )
          assert.deepStrictEqual(trigger?.["columns"], odd)
          assert.strictEqual(String(trigger?.["tgargs"]), odd.map((one) => `${one}\0`).join(""))
          const identity = String(found?.["identity"])
          yield* run(
            createFunctionSql(
              {
                ...fn,
                name,
                body: "begin return 'y'; end",
                arguments: [newArgument({ name: `v${name}`, type: "int", default: "1" })]
              },
              { identity, comment }
            )
          )
          assert.deepStrictEqual(
            yield* ask(
              `select proconfig, obj_description(oid) as comment from pg_proc where proname = $1 and pronamespace = (select oid from pg_namespace where nspname = $2)`,
              [name, schema]
            ),
            [{ proconfig: ['search_path=""'], comment: null }]
          )
          yield* run([
            dropTriggerSql({ schema, table: name, name }),
            dropFunctionSql({ kind: "function", schema, name, identity }, false),
            dropIndexSql({ schema, name: `i${name}` }, false),
            dropIndexSql({ schema, name: `j${name}` }, false)
          ])
        }
        const [left] = yield* ask(
          `select array_agg(c.relname::text order by c.oid) as names, max(obj_description(c.oid, 'pg_class')) is not null as comment
           from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`,
          [schema]
        )
        assert.deepStrictEqual(left, { names: odd, comment: true })
        yield* run([dropSchemaSql(schema, true)])
        assert.lengthOf(yield* ask("select from pg_class where relname = 'canary'"), 1)
      }, Effect.scoped)
    )

    it.effect(
      "add, rename and exchange the values of an enum",
      Effect.fn(function* () {
        const ask = yield* session
        yield* ask(
          `set standard_conforming_strings = ${strings}; set backslash_quote = on; set escape_string_warning = off`
        )
        const type = { schema: "public", name: `e"'; drop table canary; --` }
        const values = Effect.map(
          ask(
            "select array_agg(enumlabel::text order by enumsortorder) as all from pg_enum e join pg_type t on t.oid = e.enumtypid where typname = $1",
            [type.name]
          ),
          ([row]) => row?.["all"]
        )
        yield* ask(createEnumSql({ ...type, values: odd.map((one) => enumValue(one)) }))
        assert.deepStrictEqual(yield* values, odd)
        // The first two exchange their names, three take each other's, and new ones come first, between and last.
        const swapped = [odd[1] ?? "", odd[0] ?? "", odd[3] ?? "", odd[4] ?? "", odd[2] ?? "", ...odd.slice(5)]
        const draft = [
          enumValue("n'1"),
          enumValue("n'2"),
          ...odd.flatMap((before, at) => [
            enumValue(swapped[at], before),
            ...(at === 4 ? [enumValue("mid\\dle"), enumValue("renamed")] : [])
          ]),
          enumValue("last")
        ]
        yield* ask(`begin;\n${alterEnumSql({ ...type, values: draft }).join(";\n")};\ncommit`)
        assert.deepStrictEqual(
          yield* values,
          draft.map(({ value }) => value)
        )
        assert.deepStrictEqual(alterEnumSql({ ...type, values: draft.map(({ value }) => enumValue(value, value)) }), [])
        yield* ask(dropEnumSql(type, false))
        assert.isNull(yield* values)
        assert.lengthOf(yield* ask("select from pg_class where relname = 'canary'"), 1)
      }, Effect.scoped)
    )

    it.effect(
      "make and drop extensions in a schema, and change a table",
      Effect.fn(function* () {
        const { sql } = yield* Outside
        const ask = yield* session
        yield* ask(createSchemaSql(schema, "")[0] ?? "")
        yield* ask(createExtensionSql({ name: "citext", schema, version: "1.6" }))
        assert.deepStrictEqual(
          yield* sql(
            "select n.nspname, extversion from pg_extension join pg_namespace n on n.oid = extnamespace where extname = 'citext'"
          ),
          [{ nspname: schema, extversion: "1.6" }]
        )
        yield* ask(dropExtensionSql("citext", false))
        const name = odd.join("").slice(0, 30)
        yield* ask(
          createSql({ ...newTable(schema), name, columns: odd.map((one) => newColumn({ name: one })) }).join(";")
        )
        const [row] = yield* ask(databaseSchemaSql, [[schema], false, "[]"])
        const [described] = (JSON.parse(String(Object.values(row ?? {})[0])) as typeof DatabaseSchema.Type).tables
        assert(described !== undefined)
        const old = draftOf(described)
        const draft = {
          ...old,
          columns: old.columns.map((column) => Object.assign({}, column, { name: `${column.name}${column.name}` }))
        }
        yield* ask(alterSql(described, draft).join(";"))
        assert.deepStrictEqual(
          yield* ask(
            "select array_agg(attname::text order by attnum) as all from pg_attribute where attrelid = (select oid from pg_class where relname = $1) and attnum > 0",
            [name]
          ),
          [{ all: odd.map((one) => `${one}${one}`) }]
        )
        yield* ask(dropSchemaSql(schema, true))
      }, Effect.scoped)
    )
  })
}
