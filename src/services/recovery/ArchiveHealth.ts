import { Context, Effect, Layer } from "effect"
import { makeSlotHealth, noSlotHealth, type SlotHealth } from "../changes/SlotHealth.ts"
import { archivedSql, archiveSlotSql, RecoverySettings } from "./Settings.ts"

/** The state of the archiving of the write-ahead log, which every process looks at, whichever of them archives. */
export class ArchiveHealth extends Context.Service<ArchiveHealth, SlotHealth>()("svc/services/ArchiveHealth") {
  static readonly layer = Layer.effect(
    ArchiveHealth,
    Effect.gen(function* () {
      const { enabled, maxLog } = yield* RecoverySettings
      if (!enabled) return noSlotHealth
      return yield* makeSlotHealth({
        slot: archiveSlotSql,
        active: archivedSql,
        metrics: "svc_pitr",
        most: maxLog * 1024 * 1024,
        unread:
          "No process archives the write-ahead log: what is written now can't be restored to, and PostgreSQL keeps its log. The log of the replicas has the reason"
      })
    })
  )
}
