import { assert } from "vitest"
import { Client, type QueryResultRow } from "pg"
import { type Branch, type NewBranch } from "../../../src/domain/branches/Branch.ts"
import { ask, type Reply } from "../client.ts"
import { type Service } from "../service.ts"

type At = Pick<Service, "url" | "service_role">

/** `POST /api/branches`, which must succeed. */
export const makeBranch = async (at: At, label = "a copy", more: Partial<NewBranch> = {}): Promise<Branch> => {
  const reply = await ask(at, "POST /api/branches", { key: at.service_role, body: { label, ...more } })
  assert.strictEqual(reply.status, 201, reply.text)
  return reply.json as Branch
}

/** A request on a branch, by default as the service role. */
export const onBranch = (at: At, id: number, line: string, body?: unknown, key = at.service_role): Promise<Reply> =>
  ask(at, line, { key, headers: { "x-svc-branch": String(id) }, ...(body === undefined ? {} : { body }) })

/** One statement on a branch, as the service role. */
export const branchSql = async (at: At, id: number, text: string) => {
  const reply = await onBranch(at, id, "POST /v1/sql", { sql: text })
  assert.strictEqual(reply.status, 200, reply.text)
  return (reply.json as { rows: Array<Record<string, unknown>> }).rows
}

/** Runs statements with a login; returns the rows of the last one, or `"<SQLSTATE> <message>"` of the first error. */
export const asLogin = async (
  connectionString: string,
  ...statements: ReadonlyArray<string>
): Promise<ReadonlyArray<QueryResultRow> | string> => {
  const client = new Client({ connectionString })
  client.on("error", () => undefined)
  try {
    await client.connect()
    let rows: ReadonlyArray<QueryResultRow> = []
    for (const statement of statements) rows = (await client.query<QueryResultRow>(statement)).rows
    return rows
  } catch (cause) {
    const { code, message } = cause as { code?: string; message: string }
    return `${code ?? ""} ${message}`
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The same URL for another database. */
export const toDatabase = (connectionString: string, database: string) => {
  const url = new URL(connectionString)
  url.pathname = encodeURIComponent(database)
  return url.href
}

/** Results of a load test. */
export interface Hammered {
  readonly answers: number
  /** Status and body of responses other than 200 and 201. */
  readonly failures: ReadonlyArray<string>
  /** Longest response time, in ms. */
  readonly longest: number
}

/** Clients that read and write `notes` and run SQL without a pause, until they are stopped. */
export const hammer = (services: ReadonlyArray<At & Pick<Service, "anon">>, clients = 12) => {
  const failures: Array<string> = []
  const seen = { answers: 0, longest: 0, going: true }
  const requests = (at: At & Pick<Service, "anon">): ReadonlyArray<() => Promise<Reply>> => [
    () => ask(at, "GET /v1/db/notes?limit=3", { key: at.anon }),
    () => ask(at, "POST /v1/db/notes", { key: at.service_role, body: { text: "hammered" } }),
    () => ask(at, "GET /v1/db/notes?id=eq.1", { key: at.service_role }),
    () => ask(at, "POST /v1/sql", { key: at.service_role, body: { sql: "select count(*) from notes" } }),
    () => ask(at, "GET /v1/keys", { key: at.service_role })
  ]
  const client = async (n: number) => {
    const mine = requests(services[n % services.length] as At & Pick<Service, "anon">)
    for (let i = n; seen.going; i++) {
      const from = performance.now()
      const reply = await mine[i % mine.length]?.()
      seen.longest = Math.max(seen.longest, performance.now() - from)
      seen.answers++
      if (reply === undefined || reply.status > 201) failures.push(`${reply?.status} ${reply?.text}`)
    }
  }
  const all = Array.from({ length: clients }, (_, n) => client(n))
  return {
    answers: () => seen.answers,
    stop: async (): Promise<Hammered> => {
      seen.going = false
      await Promise.all(all)
      return { answers: seen.answers, failures, longest: seen.longest }
    }
  }
}
