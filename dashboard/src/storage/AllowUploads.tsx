import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { type CorsRule, ruleFor } from "./queries.ts"

/** For a store elsewhere: browsers send files to it only if a CORS rule of the bucket names this page. Its own rules are kept. */
export const AllowUploads = ({ bucket, rules }: { bucket: string; rules: ReadonlyArray<CorsRule> }) => {
  const client = useQueryClient()
  const [busy, setBusy] = useState(false)
  const allow = async () => {
    setBusy(true)
    try {
      // The store uses the first rule that matches, so ours must come before one that allows this origin less.
      const others = rules.filter(({ ID }) => ID !== "dashboard")
      const corsRules = [ruleFor(location.origin), ...others]
      await call("PUT /api/storage/buckets/:bucket/cors", { params: { bucket }, payload: { corsRules } })
      toast(`${bucket} accepts uploads from this page`)
      await client.invalidateQueries({ queryKey: ["cors", bucket] })
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <div className="storage-cors" role="status">
      <Icon name="alert" />
      <p>
        Browsers may not yet use this bucket from <code>{location.origin}</code>: uploads and previews of texts need a
        CORS rule for it. {rules.length === 0 ? "" : "The rules that the bucket has are kept."}
      </p>
      <Button kind="main" busy={busy} onClick={() => void allow()}>
        Allow this page
      </Button>
    </div>
  )
}
