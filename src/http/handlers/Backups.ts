import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { shownBackup, shownBranch } from "../../domain/audit/Shown.ts"
import { type Branch } from "../../domain/branches/Branch.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { type BackupSource } from "../../services/backups/Sources.ts"
import { Backups } from "../../services/backups/Backups.ts"
import { Api } from "../Api.ts"
import { parseRange } from "../wire/ByteRange.ts"
import { prefersAsync } from "../rows/Prefer.ts"
import { success } from "../wire/Body.ts"
import { startedBranch } from "./Branches.ts"

/** The file, or the requested range of it. */
const download = ({ bytes, name, size }: BackupSource, header: string | undefined) => {
  const range = parseRange(header, size)
  const headers = { "accept-ranges": "bytes", "cache-control": "no-store" }
  if (range === "outside") {
    return HttpServerResponse.jsonUnsafe(
      { error: `The file has ${size} bytes`, code: "RANGE_NOT_SATISFIABLE" },
      { status: 416, headers: { ...headers, "content-range": `bytes */${size}` } }
    )
  }
  return HttpServerResponse.stream(bytes(range), {
    status: range === undefined ? 200 : 206,
    contentType: name.endsWith(".zst") ? "application/zstd" : "application/octet-stream",
    contentLength: range === undefined ? size : range.last - range.first + 1,
    headers: {
      ...headers,
      "content-disposition": `attachment; filename="${name}"`,
      ...(range === undefined ? {} : { "content-range": `bytes ${range.first}-${range.last}/${size}` })
    }
  })
}

const restored =
  (id: number) =>
  ({ branch }: { readonly branch: Branch }) =>
    describeChange({ subject: `backup:${id}`, after: { branch: branch.id, ...shownBranch(branch) } })

export const BackupsHandlers = HttpApiBuilder.group(
  Api,
  "backups",
  Effect.fn(function* (handlers) {
    const backups = yield* Backups
    return handlers.handleAll({
      list: () => backups.list,
      create: ({ payload }) =>
        Effect.tap(backups.create(payload), (backup) =>
          describeChange({ subject: `backup:${backup.id}`, after: shownBackup(backup) })
        ),
      find: ({ params }) => backups.find(params.id),
      remove: Effect.fnUntraced(function* ({ params }) {
        const before = yield* backups.find(params.id)
        yield* backups.remove(params.id)
        yield* describeChange({ subject: `backup:${params.id}`, before: shownBackup(before) })
        return success
      }),
      cancel: ({ params }) => backups.cancel(params.id),
      file: ({ headers, params }) => Effect.map(backups.file(params.id), (source) => download(source, headers.range)),
      globals: ({ params }) => backups.globals(params.id),
      objects: ({ params }) =>
        Effect.map(backups.inventory(params.id), (lines) =>
          HttpServerResponse.stream(
            lines.pipe(
              Stream.map((line) => `${line}\n`),
              Stream.encodeText
            ),
            { contentType: "application/x-ndjson", headers: { "cache-control": "no-store" } }
          )
        ),
      lostObjects: ({ params }) => backups.lost(params.id),
      restore: ({ headers, params, payload }) =>
        Effect.flatMap(Effect.tap(backups.restore(params.id, payload ?? {}), restored(params.id)), ({ branch, done }) =>
          prefersAsync(headers.prefer)
            ? Effect.succeed(startedBranch(branch))
            : Effect.map(done, (made) => HttpServerResponse.jsonUnsafe(made, { status: 201 }))
        )
    })
  })
)
