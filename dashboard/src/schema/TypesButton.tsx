import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { toastError } from "../ui/toast.ts"
import { open } from "../wire/request.ts"
import { save } from "../wire/save.ts"

const path = "/v1/database/types.ts"

/** Downloads the TypeScript types of the exposed schemas. A plain link would not be signed in on `/v1`. */
export const TypesButton = () => {
  const [busy, setBusy] = useState(false)
  const download = async () => {
    setBusy(true)
    try {
      const text = await (await open(path)).text()
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
