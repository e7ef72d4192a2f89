/** Writes rows at a constant rate over separate connections, in the process of the bench program. */
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { now } from "../support/clock.ts"

export interface Written {
  /** Number of the first row; the others follow. */
  readonly first: number
  /** When each INSERT was sent, and when its commit was confirmed (clock.ts). */
  readonly sent: ReadonlyArray<number>
  readonly committed: ReadonlyArray<number>
  /** Rows per second. */
  readonly rate: number
}

export interface Writer {
  readonly write: (rate: number, seconds: number) => Promise<Written>
  /** As fast as possible, in statements of 1,000 rows. */
  readonly writeMany: (count: number) => Promise<Written>
  readonly end: () => Promise<void>
}

/** Connections alternate, so that a commit does not wait for the previous one; each writes every `stride` rows. */
export const stride = 4

export const bulk = 1000

/** Many rows in one statement; `$1`: number of the first row, `$2`: count. */
export const manySql = (table: string) =>
  `insert into ${table} (n, title, done) select n, 'Task number ' || n, false from generate_series($1::int, $1::int + $2::int - 1) n`

/** Rows are `(n, title, done)` with a unique `n`; `expect` is called before the first row is written. */
export const makeWriter = async (
  url: string,
  table: string,
  expect: (first: number, count: number) => Promise<unknown>
): Promise<Writer> => {
  const clients = Array.from({ length: stride }, () => new Client({ connectionString: url }))
  await Promise.all(clients.map((client) => client.connect()))
  const text = `insert into ${table} (n, title, done) values ($1, $2, false)`
  let next = 1

  const write = async (rate: number, seconds: number): Promise<Written> => {
    const count = Math.round(rate * seconds)
    const first = next
    next += count
    await expect(first, count)
    const sent: Array<number> = []
    const committed: Array<number> = Array.from({ length: count }, () => Number.NaN)
    const one = async (index: number, before: Promise<void> | undefined) => {
      sent.push(now())
      await before
      const n = first + index
      await clients[index % clients.length]?.query({ name: "write", text, values: [n, `Task number ${n}`] })
      committed[index] = now()
    }
    const started = now()
    const all: Array<Promise<void>> = []
    for (let index = 0; index < count; index++) {
      const early = started + (index * 1000) / rate - now()
      if (early > 0.5) await sleep(early)
      all.push(one(index, all[index - stride]))
    }
    await Promise.all(all)
    return { first, sent, committed, rate: (count * 1000) / (now() - started) }
  }

  const writeMany = async (count: number): Promise<Written> => {
    const first = next
    next += count
    await expect(first, count)
    const sent: Array<number> = []
    const committed: Array<number> = []
    const started = now()
    for (let done = 0; done < count; done += bulk) {
      const rows = Math.min(bulk, count - done)
      sent.push(...Array.from({ length: rows }, now))
      await clients[0]?.query(manySql(table), [first + done, rows])
      committed.push(...Array.from({ length: rows }, now))
    }
    return { first, sent, committed, rate: (count * 1000) / (now() - started) }
  }

  return {
    write,
    writeMany,
    end: async () => {
      await Promise.all(clients.map((client) => client.end()))
    }
  }
}
