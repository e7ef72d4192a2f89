import { rename } from "node:fs/promises"
import { Client } from "pg"
import { assert, it, vi } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import {
  archivedUntilNow,
  getFile,
  makeFiles,
  objectsArchivedUntilNow,
  putFile,
  recoveryState,
  restoreTo
} from "../../support/recovery/calls.ts"
import { effort } from "../../support/properties.ts"
import { postmasterOf, runToEnd, type Service, startService, until } from "../../support/service.ts"

vi.setConfig({ testTimeout: 300_000 })

const pause = (millis: number) => new Promise((done) => setTimeout(done, millis))

/** A row that was committed: acknowledged between the two times. */
interface Committed {
  readonly n: number
  readonly from: number
  readonly to: number
}

it("no committed row is missing in a restore to any time, while service, PostgreSQL and archive fail", async () => {
  const dataDir = await makeDataDir()
  const place = await makeDataDir()
  const start = (): Promise<Service> =>
    startService({ dataDir, env: { SVC_PITR: "true", SVC_PITR_DIR: `${place}/archive`, SVC_PITR_DRILL: "false" } })
  let service = await start()
  try {
    await sql(service, "create table public.journal (n int primary key)")
    await makeFiles(service)
    await until(
      () => recoveryState(service),
      ({ latest }) => latest !== null,
      60_000
    )
    const begun = Date.now()
    const journal: Array<Committed> = []
    const ending = new AbortController()
    let n = 0
    const writer = (async () => {
      while (!ending.signal.aborted) {
        const from = Date.now()
        const at = ++n
        try {
          await sql(service, "insert into public.journal values ($1)", [at])
          journal.push({ n: at, from, to: Date.now() })
        } catch {
          await pause(50)
        }
        await pause(5)
      }
    })()
    /** Files that were acknowledged; each is written once. */
    const files: Array<{ readonly key: string; readonly content: string; readonly from: number; readonly to: number }> =
      []
    const filer = (async () => {
      for (let n = 0; !ending.signal.aborted; n++) {
        const [from, key, content] = [Date.now(), `f/${n}`, `${n} `.repeat(n % 5 === 0 ? 20_000 : 20)]
        const status = await putFile(service, key, content).catch(() => 0)
        if (status === 201) files.push({ key, content, from, to: Date.now() })
        await pause(20)
      }
    })()
    const bulk = () =>
      sql(service, "create table public.bulk_" + Date.now() + " as select generate_series(1, 200000) n")
    for (const failure of ["service", "both", "archive", "postgres", "both"] as const) {
      await pause(700)
      await bulk().catch(() => undefined)
      await pause(Math.random() * 600)
      const postmaster = await postmasterOf(service)
      if (failure === "archive") {
        await rename(`${place}/archive`, `${place}/away`)
        await pause(2500)
        await rename(`${place}/away`, `${place}/archive`)
      } else if (failure === "postgres") process.kill(postmaster, "SIGKILL")
      else {
        await service.stop("SIGKILL")
        if (failure === "both") process.kill(postmaster, "SIGKILL")
        service = await start()
      }
    }
    await pause(1500)
    ending.abort()
    await writer
    await filer
    assert.isAbove(journal.length, 50)
    const state = await archivedUntilNow(service)
    assert.strictEqual(state.spans.length, 1, JSON.stringify(state.spans))
    assert.isAtMost(Date.parse(state.earliest ?? ""), begun)
    const ended = journal.at(-1)?.to ?? 0
    for (let round = 0; round < 3 * effort; round++) {
      const target = Math.floor(begun + Math.random() * (ended - begun))
      const { connection } = await restoreTo(service, target)
      const client = new Client({ connectionString: connection })
      await client.connect()
      const { rows } = await client.query<{ readonly n: number }>("select n from public.journal")
      await client.end()
      const restored = new Set(rows.map(({ n }) => n))
      const about = `of ${new Date(target).toISOString()}`
      const missing = journal.filter(({ n, to }) => to <= target && !restored.has(n))
      assert.deepStrictEqual(missing, [], `missing in the state ${about}`)
      const early = journal.filter(({ from, n }) => from > target && restored.has(n))
      assert.deepStrictEqual(early, [], `too early in the state ${about}`)
    }

    // The whole installation is lost, and no object that was acknowledged some seconds before.
    const key = (await ask(service, "POST /api/backups/pitr/key", { key: service.service_role })).json
    const { recovery_key } = key as { readonly recovery_key: string }
    await objectsArchivedUntilNow(service)
    await service.stop("SIGKILL")
    process.kill(await postmasterOf(service), "SIGKILL")
    await removeDataDir(dataDir)
    const target = Math.floor(begun + (0.3 + 0.7 * Math.random()) * (ended - begun))
    const { code, output } = await runToEnd(
      { SVC_DATA_DIR: dataDir, SVC_PITR_DIR: `${place}/archive`, SVC_RECOVERY_KEY: recovery_key },
      ["dist/svc.mjs", "recover", "--at", new Date(target).toISOString()]
    )
    assert.strictEqual(code, 0, output)
    service = await start()
    assert.isAbove(files.length, 20)
    for (const { content, from, key, to } of files) {
      if (to <= target) assert.strictEqual(await getFile(service, key), content, `${key} is missing or differs`)
      if (from > target) assert.isUndefined(await getFile(service, key), `${key} is of a later time`)
    }
  } finally {
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
    await removeDataDir(place)
  }
})
