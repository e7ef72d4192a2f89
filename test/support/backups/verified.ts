import { ConfigProvider, Context, Effect, Layer, Scope } from "effect"
import { type SqlClient } from "effect/sql"
import { type BackupId, type Backup } from "../../../src/domain/backups/Backup.ts"
import { layerBackupDirectory } from "../../../src/layers/dumps/BackupDirectory.ts"
import { layerDumpToolsFound } from "../../../src/layers/dumps/ToolsFound.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { Backups } from "../../../src/services/backups/Backups.ts"
import { layer as layerBackups } from "../../../src/services/backups/layer.ts"
import { OwnJobs } from "../../../src/services/OwnJobs.ts"
import { BackupSettings } from "../../../src/services/backups/Settings.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { type DumpTool, DumpTools } from "../../../src/services/ports/DumpTools.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { eventually } from "../eventually.ts"
import { backupDirectory } from "./backups.ts"

interface VerifiedOptions {
  /** Verifies all backups by default. */
  readonly settings?: Readonly<Record<string, string>>
  /** Replaces steps of the real tool. */
  readonly tool?: (real: DumpTool) => Partial<DumpTool>
  /** Replaces parts of the real branches. */
  readonly branches?: Partial<Branches["Service"]>
}

/** The backups of a service with its real tools, which verifies all of them, until the scope closes. */
export const verifyingBackups = (
  login: Login,
  { branches = {}, settings = {}, tool = () => ({}) }: VerifiedOptions = {}
) =>
  Effect.gen(function* () {
    const directory = yield* backupDirectory
    const config = ConfigProvider.layer(
      ConfigProvider.fromEnvRecord({ SVC_BACKUP_DIR: directory, SVC_BACKUP_VERIFY: "all", ...settings })
    )
    const real = layerDumpToolsFound.pipe(
      Layer.provide(Layer.succeed(PostgresAddress, login)),
      Layer.provide(BackupSettings.layer.pipe(Layer.provide(config)))
    )
    const layerTools = Layer.effect(
      DumpTools,
      Effect.map(DumpTools, (tools) =>
        DumpTools.of({
          ...tools,
          reader: (format) => Effect.map(tools.reader(format), (one) => ({ ...one, ...tool(one) }))
        })
      )
    ).pipe(Layer.provide(real))
    const service = yield* Branches
    const main = { name: login.database } as Db["Service"]["main"]
    const own = yield* Scope.fork(yield* Effect.scope)
    const layer = layerBackups.pipe(
      Layer.provide(
        Layer.mergeAll(
          layerBackupDirectory,
          OwnJobs.layer,
          layerTools,
          makeBucketsFake().layer,
          Layer.mock(Db, { main, branch: () => main }),
          Layer.succeed(Branches, Branches.of({ ...service, ...branches }))
        )
      ),
      Layer.provide(BackupSettings.layer),
      Layer.provide(config)
    )
    const backups = Context.get(yield* Layer.build(Layer.fresh(layer)).pipe(Scope.provide(own)), Backups)
    const settled = (id: BackupId): Effect.Effect<Backup, unknown, SqlClient.SqlClient> =>
      eventually(
        backups.find(id),
        ({ status, verification }) => status === "failed" || /passed|failed|skipped/.test(verification ?? ""),
        60_000
      )
    return { backups, directory, settled, end: (exit: Parameters<typeof Scope.close>[1]) => Scope.close(own, exit) }
  })
