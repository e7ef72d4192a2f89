import { Context, Effect, Layer } from "effect"
import { type Backup, type BackupId, type NewBackup } from "../../domain/backups/Backup.ts"
import { type Conflict, type Forbidden, type NotFound, type Unavailable } from "../../domain/errors.ts"
import { BackupRecords } from "./Records.ts"
import { BackupRemoval } from "./Removal.ts"
import { BackupRestores, type RestoreOptions, type Restoring } from "./Restores.ts"
import { BackupRuns } from "./Runs.ts"
import { type BackupSource, BackupSources } from "./Sources.ts"
import { type StoreError } from "../ports/ObjectStore.ts"

/** Dumps of the main database in files, and branches made of them (spec: Backup). */
export class Backups extends Context.Service<
  Backups,
  {
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<Backup>, Unavailable>
    readonly find: (id: BackupId) => Effect.Effect<Backup, NotFound | Unavailable>
    /** Begins one. 409 `BACKUP_LIMIT` when two are being made. */
    readonly create: (given: NewBackup) => Effect.Effect<Backup, Conflict | NotFound | Unavailable>
    readonly cancel: BackupRemoval["Service"]["cancel"]
    readonly remove: BackupRemoval["Service"]["remove"]
    readonly file: (id: BackupId) => Effect.Effect<BackupSource, NotFound | Conflict | Unavailable | StoreError>
    readonly globals: (id: BackupId) => Effect.Effect<string, NotFound | Conflict | Unavailable>
    readonly restore: (
      id: BackupId,
      options: RestoreOptions
    ) => Effect.Effect<Restoring, NotFound | Conflict | Forbidden | Unavailable | StoreError>
  }
>()("svc/services/Backups") {
  static readonly layer = Layer.effect(
    Backups,
    Effect.gen(function* () {
      const records = yield* BackupRecords
      const runs = yield* BackupRuns
      const removal = yield* BackupRemoval
      const sources = yield* BackupSources
      const restores = yield* BackupRestores

      const create = Effect.fn("Backups.create")(function* ({ label }: NewBackup) {
        const run = yield* runs.start(label)
        return yield* run === undefined ? Effect.die("A backup of no slot was given up") : records.find(run.id)
      })

      return Backups.of({
        list: records.list,
        find: records.find,
        create,
        cancel: removal.cancel,
        remove: removal.remove,
        file: sources.find,
        globals: sources.globals,
        restore: restores.start
      })
    })
  )
}
