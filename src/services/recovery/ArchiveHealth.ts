import { Context, Effect, Layer } from "effect"
import { type DrillState } from "../../domain/recovery/Drill.ts"
import { makeSlotHealth, noSlotHealth, type SlotHealth } from "../changes/SlotHealth.ts"
import { makeDrillState } from "./DrillState.ts"
import { archivedSql, archiveSlotSql, RecoverySettings } from "./Settings.ts"

interface ArchiveHealthShape extends SlotHealth {
  /** How the drills are doing; undefined without an archive, and while the database does not answer. */
  readonly drill: Effect.Effect<DrillState | undefined>
}

/** The state of the archiving of the write-ahead log, which every process looks at, whichever of them archives. */
export class ArchiveHealth extends Context.Service<ArchiveHealth, ArchiveHealthShape>()("svc/services/ArchiveHealth") {
  static readonly layer = Layer.effect(
    ArchiveHealth,
    Effect.gen(function* () {
      const { enabled, maxLog } = yield* RecoverySettings
      if (!enabled) return { ...noSlotHealth, drill: Effect.undefined }
      const slot = yield* makeSlotHealth({
        slot: archiveSlotSql,
        active: archivedSql,
        metrics: "svc_pitr",
        most: maxLog * 1024 * 1024,
        unread:
          "No process archives the write-ahead log: what is written now can't be restored to, and PostgreSQL keeps its log. The log of the replicas has the reason"
      })
      const drills = yield* makeDrillState
      return {
        seen: slot.seen,
        samples: Effect.zipWith(slot.samples, drills.samples, (one, other) => [...one, ...other]),
        drill: drills.state
      }
    })
  )
}
