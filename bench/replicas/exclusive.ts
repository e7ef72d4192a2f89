import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type Client } from "pg"
import { ask } from "./balancer.ts"
import { type Cluster } from "./cluster.ts"
import { type Load } from "./load.ts"
import { type Journal } from "./report.ts"

/** The most backups that run at once, over all replicas. */
const mostBackups = 2

/** What one replica does at a time: all of them are asked at the same moment. */
export class Exclusive {
  private readonly cluster: Cluster
  private readonly load: Load
  private readonly journal: Journal
  private files = 0

  constructor(cluster: Cluster, load: Load, journal: Journal) {
    this.cluster = cluster
    this.load = load
    this.journal = journal
  }

  private everywhere(method: string, path: string, body?: unknown) {
    return Promise.all(
      this.cluster.replicas.map((replica) => ask(replica.url + path, method, this.load.key, body, () => replica))
    )
  }

  /** A new migration file, and its run at all replicas. */
  async migrate() {
    const name = String(++this.files).padStart(4, "0")
    const sql = `insert into migrated values ('${name}'); select pg_sleep(0.2);`
    await writeFile(join(this.cluster.migrationsDir, `${name}_run.sql`), sql)
    await this.everywhere("POST", "/api/migrations/idempotent/run")
  }

  /** One more than may run at once, if they take long enough. */
  private backup() {
    return this.everywhere("POST", "/api/backups", { label: "chaos" })
  }

  /** Until the run stops. */
  async run(pause: number) {
    for (let round = 0; !this.load.stopping; round++) {
      await this.migrate()
      if (round % 4 === 0) await this.backup()
      for (const next = Date.now() + pause; !this.load.stopping && Date.now() < next; await sleep(100));
    }
  }

  /** Runs what faults have interrupted, and compares. */
  async compare(client: Client) {
    const { journal } = this
    await this.migrate()
    const { rows } = await client.query<{ name: string; count: number }>(
      "select name, count(*)::int as count from migrated group by name"
    )
    journal.report.migrations = rows.length
    for (const { count, name } of rows) if (count > 1) journal.found("migrationTwice", `${name} was run ${count} times`)
    if (rows.length !== this.files) journal.found("lost", `${this.files - rows.length} migrations were not run`)
    const backups = await client.query<{ status: string; at_once: number }>(`
      select status, (select count(*)::int from svc.backups o where o.created_at <= b.created_at
        and coalesce(o.completed_at, now()) > b.created_at and o.status = 'completed') as at_once
      from svc.backups b where status = 'completed'`)
    journal.report.backups = backups.rows.length
    for (const { at_once } of backups.rows)
      if (at_once > mostBackups) journal.found("backupsAtOnce", `${at_once} ran at once`)
  }
}
