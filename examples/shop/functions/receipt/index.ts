import { api, ofService } from "../_shared/api.ts"

interface Messages {
  readonly messages: ReadonlyArray<{ readonly message: { readonly order: number; readonly email: string } }>
}

/** Called with messages of the queue. One may come twice, which the key of the table makes harmless. */
Deno.serve(
  ofService(async ({ messages }: Messages) => {
    const receipts = messages.map(({ message }) => ({
      order_id: message.order,
      text: `To ${message.email}: thank you for order ${message.order}.`
    }))
    return await api("POST /v1/db/receipts?on_conflict=order_id", receipts, { prefer: "resolution=ignore-duplicates" })
  })
)
