import { ConfigProvider, Context, Effect, Layer, Scope } from "effect"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BackupId } from "../../../src/domain/backups/Backup.ts"
import { layerBackupDirectory } from "../../../src/layers/dumps/BackupDirectory.ts"
import { layer as layerBackups } from "../../../src/services/backups/layer.ts"
import { Backups } from "../../../src/services/backups/Backups.ts"
import { BackupSettings } from "../../../src/services/backups/Settings.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { makeDumpTools } from "../dumps/tools.ts"
import { eventually } from "../eventually.ts"

/** An empty directory, until the scope closes. */
export const backupDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-backups-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

export const filesIn = (path: string) => Effect.promise(async () => (await readdir(path)).sort())

interface ReplicaOptions {
  readonly directory: string
  readonly settings?: Readonly<Record<string, string>>
  readonly store?: ReturnType<typeof makeBucketsFake>
  readonly branches?: Partial<Branches["Service"]>
}

/** The backups of one replica on the test's database, with its own fake tools, until the scope closes. */
export const replica = ({ branches = {}, directory, settings = {}, store = makeBucketsFake() }: ReplicaOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const tools = makeDumpTools()
    const own = yield* Scope.fork(scope)
    const layer = layerBackups.pipe(
      Layer.provide(Layer.mergeAll(layerBackupDirectory, tools.layer, store.layer, Layer.mock(Branches, branches))),
      Layer.provide(BackupSettings.layer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ SVC_BACKUP_DIR: directory, ...settings })))
    )
    const backups = Context.get(yield* Layer.build(Layer.fresh(layer)).pipe(Scope.provide(own)), Backups)
    const over = (id: BackupId) => eventually(backups.find(id), ({ status }) => status !== "in_progress")
    return { backups, tools: tools.now, over, end: (exit: Parameters<typeof Scope.close>[1]) => Scope.close(own, exit) }
  })
