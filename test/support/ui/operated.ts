import { inject } from "vitest"
import { ask, sql } from "../client.ts"

export interface Operated {
  /** A table that publishes its changes, with some. */
  readonly table: string
  /** Whose attempts have failed: its receiver is refused, as it is not on the public Internet. */
  readonly webhook: number
  readonly branch: number
  readonly backup: number
  /** Name of a foreign server with a login, whose address has no server. */
  readonly server: string
}

const service = inject("service")

const post = async (path: string, body: unknown) => {
  const { json, status, text } = await ask(service, `POST ${path}`, { key: service.service_role, body })
  if (status >= 300) throw new Error(`${path}: ${text}`)
  return json as { readonly id: number }
}

/** One of everything that the pages about operations show. */
export const operate = async (): Promise<Operated> => {
  const table = `operated_${process.pid}`
  await sql(service, `create table ${table} (id int primary key, note text)`)
  const { id: branch } = await post("/api/branches", { label: "try the new schema", ttlHours: 24 })
  const { id: backup } = await post("/api/backups", { label: "before the sale" })
  await post("/api/realtime/subscribe", { table })
  const { id: webhook } = await post("/api/webhooks", {
    name: "orders to the shop",
    table_name: table,
    events: ["DELETE"],
    url: "http://127.0.0.1:9/hooks/orders",
    secret: "operated",
    headers: { authorization: "Bearer abc" }
  })
  await post(`/api/webhooks/${webhook}/test`, undefined)
  await sql(service, `insert into ${table} select i, 'note ' || i from generate_series(1, 60) i`)
  await sql(service, `update ${table} set note = 'changed' where id <= 3`)
  await post("/api/queues", { name: "mails", max_reads: 1 })
  for (const to of ["ann", "bob"]) await post("/api/queues/mails/messages", { message: { to: `${to}@example.com` } })
  await sql(service, "select pgmq.read('mails', 0, 1)")
  await sql(service, "select pgmq.read('mails', 600, 1)")
  await post("/api/projects/default/environments", { name: "Development", slug: "dev", config: { region: "eu" } })
  await post("/api/connections", { name: "shop", connection_url: "postgres://reader:secret@127.0.0.1:1/shop" })
  const server = `operated ${process.pid}`
  await post("/api/fdw/server", { name: server, host: "127.0.0.1", port: 1, dbname: "shop" })
  await post("/api/fdw/user-mapping", {
    server,
    local_user: "current_user",
    remote_user: "reader",
    remote_password: ""
  })
  return { table, webhook, branch, backup, server }
}
