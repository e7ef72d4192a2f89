import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { assert, inject } from "vitest"
import type { SchemaReading } from "../../../src/domain/branches/schema/Corrections.ts"
import { schemaDifference } from "../../../src/domain/branches/schema/Difference.ts"
import { type SchemaDifference } from "../../../src/domain/branches/schema/SchemaDifference.ts"
import { newTransaction } from "../../../src/domain/migrations/NewFiles.ts"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { readSchema } from "../../../src/services/branches/schema/Extraction.ts"
import { type SqlSession } from "../../../src/services/ports/Db.ts"
import { place } from "../dumps/native.ts"
import { toDatabase } from "./branches.ts"
import { grantees } from "./schemas.ts"

type Statements = ReadonlyArray<string>

const server = inject("databaseUrl")
const names = [`schema_a_${process.pid}`, `schema_b_${process.pid}`] as const

const connect = async (database: string) => {
  const client = new Client({ connectionString: toDatabase(server, database) })
  await client.connect()
  return client
}

const onServer = async (...statements: Statements) => {
  const client = await connect("postgres")
  for (const statement of statements) await client.query(statement)
  await client.end()
}
const dropAll = names.map((name) => `drop database if exists ${name} with (force)`)

/** Roles of the server, once for a file. */
export const makeGrantees = () =>
  onServer(
    ...grantees.map(
      (name) => `do $$ begin create role ${quoteName(name)}; exception when duplicate_object then null; end $$`
    )
  )
export const dropPair = () => onServer(...dropAll)

const texts = { getTypeParser: () => (value: string) => value }
const sessionOf = (client: Client) =>
  ({
    query: (text: string, values: Array<string>) =>
      Effect.promise(async () => {
        const { fields, rows } = await client.query<Array<string | null>>({
          text,
          values,
          rowMode: "array",
          types: texts as never
        })
        return {
          rows,
          fields: fields.map(({ dataTypeID, name }) => ({ name, oid: dataTypeID, typmod: -1 })),
          truncated: false
        }
      })
  }) as unknown as SqlSession

const read = async (client: Client): Promise<SchemaReading> => {
  await client.query("begin isolation level repeatable read read only")
  const reading = await Effect.runPromise(readSchema(sessionOf(client)))
  await client.query("commit")
  return reading
}

/** What PostgreSQL orders by time or by number: columns and grants. */
const sorted = (block: string) => {
  const columns = /^(CREATE [^;]*?TABLE [^;]*? \(|CREATE TYPE [^;]*? AS \()\n([\s\S]*?)\n\)/m
  const lines = block.replace(
    columns,
    (_, head: string, body: string) => `${head}\n${body.split(/,?\n/).sort().join("\n")}\n)`
  )
  const all = lines.split("\n")
  return all.every((line) => /^(?:GRANT|REVOKE) /.test(line)) ? all.sort().join("\n") : lines
}

/** The statements of pg_dump, without owners. */
const dump = async (database: string) => {
  const { stdout } = await promisify(execFile)(
    join(place ?? "", "pg_dump"),
    ["--schema-only", "--no-owner", toDatabase(server, database)],
    { maxBuffer: 64 * 1024 * 1024 }
  )
  const blocks = stdout.replaceAll(/^(?:\\(?:un)?restrict|--).*$/gm, "").split(/\n{3,}/)
  return blocks
    .map((block) => sorted(block.trim()))
    .filter((block) => block !== "")
    .sort()
}

const apply = async (client: Client, { sql }: SchemaDifference) => {
  for (const part of sql === "" ? [] : sql.split(newTransaction)) {
    await client.query("begin")
    try {
      await client.query(part)
      await client.query("commit")
    } catch (cause) {
      await client.query("rollback")
      throw new Error(`${(cause as Error).message} in\n${sql}`, { cause })
    }
  }
}

/** Without the grants that a warning names, for which there is no statement. */
const covered = (blocks: Statements, { warnings }: SchemaDifference) => {
  const left = warnings.flatMap(({ kind, object }) =>
    kind.startsWith("grants on the sequence") ? [`ON SEQUENCE ${object} `] : []
  )
  return blocks.flatMap((block) => {
    const lines = block.split("\n").filter((line) => !left.some((name) => line.includes(name)))
    return lines.length === 0 ? [] : [lines.join("\n")]
  })
}

export interface AppliedPair {
  readonly there: SchemaDifference
  readonly back: SchemaDifference
}

const withPair = async <A>(
  one: Statements,
  two: Statements,
  use: (a: Client, before: SchemaReading, wanted: SchemaReading) => Promise<A>
) => {
  await onServer(...dropAll, ...names.map((name) => `create database ${name} template template0`))
  const [a, b] = [await connect(names[0]), await connect(names[1])]
  try {
    for (const statement of one) await a.query(statement)
    for (const statement of two) await b.query(statement)
    return await use(a, await read(a), await read(b))
  } finally {
    await a.end()
    await b.end()
  }
}

/** What makes the first of two databases the second, applied to it. */
export const differenceOf = (one: Statements, two: Statements) =>
  withPair(one, two, async (a, before, wanted) => {
    const there = schemaDifference(before, wanted, "main")
    await apply(a, there)
    return { there }
  })

/**
 * Two databases made by these statements: the first one gets the schema of the second, and its own again, as pg_dump writes
 * them.
 */
export const appliesBothWays = (one: Statements, two: Statements) =>
  withPair(one, two, async (a, before, wanted): Promise<AppliedPair> => {
    const [dumpBefore, dumpWanted] = await Promise.all([dump(names[0]), dump(names[1])])
    assert.deepStrictEqual(schemaDifference(before, before, "main").statements, [])

    const there = schemaDifference(before, wanted, "main")
    await apply(a, there)
    assert.deepStrictEqual(covered(await dump(names[0]), there), covered(dumpWanted, there), there.sql)
    const reached = await read(a)
    assert.deepStrictEqual(schemaDifference(reached, wanted, "main").statements, [])

    const back = schemaDifference(reached, before, "main")
    await apply(a, back)
    const both = { ...back, warnings: [...there.warnings, ...back.warnings] }
    assert.deepStrictEqual(covered(await dump(names[0]), both), covered(dumpBefore, both), back.sql)
    return { there, back }
  })
