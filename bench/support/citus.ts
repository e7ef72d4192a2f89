/** A database of its own in a Citus cluster, whose nodes accept the same login and allow new databases. */
import { randomBytes } from "node:crypto"
import { Client } from "pg"

interface Node {
  readonly nodename: string
  readonly nodeport: number
}

const connected = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

const withClient = async <A>(url: string, use: (client: Client) => Promise<A>) => {
  const client = await connected(url)
  return use(client).finally(() => client.end())
}

const at = (url: string, { nodename, nodeport }: Node, database?: string) => {
  const there = new URL(url)
  there.hostname = nodename
  there.port = String(nodeport)
  if (database !== undefined) there.pathname = `/${database}`
  return there.href
}

/** `url`: the coordinator, in a database with Citus and its workers. `most`: workers that the new database has. */
export const makeCitusDatabase = async (url: string, most = Infinity) => {
  const name = `svc_${randomBytes(6).toString("hex")}`
  const given = new URL(url)
  const coordinator: Node = { nodename: given.hostname, nodeport: Number(given.port || 5432) }
  const workers = await withClient(url, async (client) => {
    const { rows } = await client.query<Node>(
      "select nodename, nodeport from pg_dist_node where isactive and groupid <> 0 order by nodeport"
    )
    return rows.slice(0, most)
  })
  const nodes = [coordinator, ...workers]
  for (const node of nodes) {
    await withClient(at(url, node), async (client) => {
      await client.query("set citus.enable_create_database_propagation = off")
      await client.query(`create database ${name}`)
    })
    await withClient(at(url, node, name), (client) => client.query("create extension citus"))
  }
  const own = at(url, coordinator, name)
  await withClient(own, async (client) => {
    await client.query("select citus_set_coordinator_host($1, $2)", [coordinator.nodename, coordinator.nodeport])
    for (const { nodename, nodeport } of workers)
      await client.query("select citus_add_node($1, $2)", [nodename, nodeport])
    // The coordinator has the shards if there is no worker.
    if (workers.length === 0) {
      await client.query("select citus_set_node_property($1, $2, 'shouldhaveshards', true)", [
        coordinator.nodename,
        coordinator.nodeport
      ])
    }
  })
  const remove = async () => {
    for (const node of nodes) {
      await withClient(at(url, node), async (client) => {
        await client.query("set citus.enable_create_database_propagation = off")
        await client.query(`drop database ${name} with (force)`)
      })
    }
  }
  return { url: own, [Symbol.asyncDispose]: remove }
}
