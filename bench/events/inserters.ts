/** Connections that insert as fast as possible, in a separate process (see bench/support/remote.ts). */
import { Client } from "pg"
import { serve } from "../support/remote.ts"
import { bulk, manySql } from "./writer.ts"

export interface Slice {
  readonly table: string
  readonly seconds: number
  /** Rows per statement: one or 1,000. */
  readonly many: boolean
  /** At most 32. */
  readonly connections: number
}

const clients: Array<Client> = []

const open = async (url: string) => {
  clients.push(...Array.from({ length: 32 }, () => new Client({ connectionString: url })))
  await Promise.all(clients.map((client) => client.connect()))
}

/** Rows per second. */
const run = async ({ connections, many, seconds, table }: Slice) => {
  const one = `insert into ${table} (n, title, done) values ($1, $2, false)`
  const started = performance.now()
  const end = started + seconds * 1000
  let rows = 0
  const loop = async (client: Client) => {
    while (performance.now() < end) {
      const n = rows
      rows += many ? bulk : 1
      await (many
        ? client.query({ name: `many ${table}`, text: manySql(table), values: [n, bulk] })
        : client.query({ name: `one ${table}`, text: one, values: [n, `Task number ${n}`] }))
    }
  }
  await Promise.all(clients.slice(0, connections).map(loop))
  return (rows * 1000) / (performance.now() - started)
}

const calls = { open, run }
export type Inserters = typeof calls

if (import.meta.main) serve(calls)
