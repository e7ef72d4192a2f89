import { Effect, Layer } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { parseBranchId } from "../../domain/branches/Branch.ts"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { ObjectsMoment } from "../../services/storage/Storage.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { branchHeader, notABranchId } from "../wire/BranchHeader.ts"

/**
 * Storage of a branch that shows the objects of an earlier time, which can only be read. Other branches share the objects
 * of the main database, whatever a request does with them.
 */
export class BranchObjects extends HttpApiMiddleware.Service<BranchObjects>()("svc/http/BranchObjects", {
  error: [InvalidRequest, NotFound, Forbidden, Conflict, Unavailable]
}) {}

/** The endpoints that read objects. All others change something, or show what has no history. */
const reads = new Set([
  "clientStorage.list",
  "storage.list",
  "storageObjects.list",
  "storageObjects.metadata",
  "storageObjects.presignDownload",
  "storageObjects.tags"
])

const readOnly = (id: number, moment: Date) =>
  new Conflict({
    error: `With branch ${id}, storage shows the objects of ${moment.toISOString()}, which can only be listed and read`,
    code: "BRANCH_OBJECTS_READ_ONLY",
    hint: "Omit X-Svc-Branch to use the objects of now"
  })

export const layerBranchObjects = Layer.effect(
  BranchObjects,
  Effect.gen(function* () {
    const branches = yield* Branches
    return BranchObjects.of((app, { endpoint, group }) =>
      Effect.gen(function* () {
        const header = (yield* CurrentRequest).headers[branchHeader]
        if (header === undefined) return yield* app
        const id = parseBranchId(header)
        if (id === undefined) return yield* notABranchId
        const moment = yield* branches.objectsAt(id)
        if (moment === undefined) return yield* app
        if (!reads.has(`${group.identifier}.${endpoint.identifier}`)) return yield* readOnly(id, moment)
        return yield* Effect.provideService(app, ObjectsMoment, moment)
      })
    )
  })
)
