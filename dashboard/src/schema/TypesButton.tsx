import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { toastError } from "../ui/toast.ts"
import { apiErrorOf } from "../wire/ApiError.ts"
import { branch } from "../wire/branch.ts"
import { save } from "../wire/save.ts"

const path = "/v1/database/types.ts"

/** Downloads the TypeScript types of the exposed schemas. A plain link would not be signed in on `/v1`. */
export const TypesButton = () => {
  const [busy, setBusy] = useState(false)
  const download = async () => {
    setBusy(true)
    try {
      const response = await fetch(path, { headers: { "x-svc-dashboard": "1", ...branch.headers(path) } })
      const text = await response.text()
      if (!response.ok) throw apiErrorOf(response, text)
      save(new Blob([text], { type: "text/plain" }), "types.ts")
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <Button icon="download" busy={busy} onClick={() => void download()}>
      types.ts
    </Button>
  )
}
