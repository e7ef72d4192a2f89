import { useQuery } from "@tanstack/react-query"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Status = Wire["GET /api/migrations/idempotent/status"]["success"]
export type Migration = Status["migrations"][number]

/** `millis`: how often it is read again, while a run goes on. */
export const useStatus = (millis: number | false = false) =>
  useQuery({
    queryKey: ["migrations"],
    queryFn: ({ signal }) => call("GET /api/migrations/idempotent/status", { signal }),
    refetchInterval: millis
  })

/** Whether the service can add to the history: it shows those of other tools only. */
export const isRunnable = ({ tool }: Status) =>
  tool === null || tool === "drizzle" || tool === "prisma" || tool === "supabase"

/** The pending migrations up to one, in the order in which they run. */
export const pendingThrough = ({ migrations }: Status, name: string): ReadonlyArray<string> =>
  migrations
    .slice(0, migrations.findIndex((one) => one.name === name) + 1)
    .filter(({ status }) => status === "pending")
    .map(({ name }) => name)

/** Which file a failed run is about. */
export const failedAt = (error: unknown): { readonly name: string; readonly line: number | undefined } | undefined => {
  if (!(error instanceof ApiError) || typeof error.body.details !== "object" || error.body.details === null) return
  const { line, migration } = error.body.details as { readonly line?: unknown; readonly migration?: unknown }
  return typeof migration === "string"
    ? { name: migration, line: typeof line === "number" ? line : undefined }
    : undefined
}
