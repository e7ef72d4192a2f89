import { api, ofService } from "../_shared/api.ts"

/** Called by a schedule every night: deletes orders that were not paid within a day. */
Deno.serve(
  ofService(async () => {
    const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000).toISOString()
    const deleted = await api(`DELETE /v1/db/orders?status=eq.open&created_at=lt.${yesterday}`)
    return { deleted: deleted.length }
  })
)
