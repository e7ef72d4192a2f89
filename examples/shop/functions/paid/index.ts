import { api, ofService } from "../_shared/api.ts"

interface Order {
  readonly id: number
  readonly email: string
  readonly status: string
}

/** Called by a webhook for each changed order: has a receipt made of one that was paid. */
Deno.serve(
  ofService(async ({ old_record, record }: { old_record: Order; record: Order }) => {
    if (record.status !== "paid" || old_record.status === "paid") return { ignored: record.id }
    return await api("POST /v1/queues/receipts/send", { message: { order: record.id, email: record.email } })
  })
)
