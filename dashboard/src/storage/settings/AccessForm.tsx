import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Choose, Field } from "../../ui/Field.tsx"
import { useAction } from "../../ui/FormDialog.tsx"
import { parseObject, prettyJson } from "../../ui/json/json.ts"
import { JsonField } from "../../ui/json/JsonField.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { useUnsaved } from "../../ui/page/unsaved.ts"
import { toast } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"
import { type Access, accessOf, type Policy, publicPolicy } from "./access.ts"

const tags: ReadonlyArray<readonly [Access["tag"], string]> = [
  ["private", "Private: by links that expire only"],
  ["public", "Public: everyone reads files"],
  ["custom", "A policy in JSON"]
]

/** Who may use the bucket without a link. */
export const AccessForm = ({ bucket, policy }: { bucket: string; policy: Policy | null }) => {
  const client = useQueryClient()
  const stored = accessOf(bucket, policy, prettyJson)
  const [access, setAccess] = useState<Access>(stored)
  const parsed = access.tag === "custom" ? parseObject(access.text) : undefined
  const next =
    access.tag === "private" ? null : access.tag === "public" ? publicPolicy(bucket, access.prefix) : undefined
  const dirty = JSON.stringify(access) !== JSON.stringify(stored)
  useUnsaved(dirty ? "The access is not saved. Leave anyway?" : undefined)
  const { busy, failure, go } = useAction(() => {
    const document = next === undefined ? (parsed !== undefined && "value" in parsed ? parsed.value : undefined) : next
    if (document === undefined) return undefined
    const save = async () => {
      const payload = { policy: document as Policy | null }
      await call("PUT /api/storage/buckets/:bucket/policy", { params: { bucket }, payload })
      toast("Access saved")
      await client.invalidateQueries({ queryKey: ["policy", bucket] })
    }
    return save()
  })
  const choose = (tag: string) => {
    if (tag === "private") setAccess({ tag })
    else if (tag === "public") setAccess({ tag, prefix: "" })
    else if (tag === "custom") setAccess({ tag, text: prettyJson(next ?? publicPolicy(bucket, "public/")) })
  }
  return (
    <form
      className="card"
      aria-label="Access"
      onSubmit={(event) => {
        event.preventDefault()
        go()
      }}
    >
      <h3>
        Access <small>who may read and write without a link of the service</small>
      </h3>
      <Choose label="Access" value={access.tag} options={tags} onValue={choose} />
      {access.tag === "public" ? (
        <>
          <Field
            label="Only files that begin with"
            value={access.prefix}
            placeholder="all files"
            hint="Such as public/ for a folder. Names can't be listed, but anyone who knows or guesses one reads the file."
            autoComplete="off"
            spellCheck={false}
            onText={(prefix) => setAccess({ ...access, prefix })}
          />
          {access.prefix === "" ? (
            <div className="field-problem" role="status">
              Every file of the bucket becomes public.
            </div>
          ) : null}
        </>
      ) : null}
      {access.tag === "custom" ? (
        <JsonField
          label="Policy"
          rows={8}
          text={access.text}
          problem={parsed !== undefined && "problem" in parsed ? parsed.problem : undefined}
          hint="An S3 policy document; the object store checks its actions and conditions."
          onText={(text) => setAccess({ ...access, text })}
        />
      ) : access.tag === "public" ? (
        <pre className="code">{prettyJson(next)}</pre>
      ) : null}
      {failure === undefined ? null : <Problem error={failure} title="The access was not changed" />}
      <footer>
        <span className="grow" />
        <Button kind="main" type="submit" busy={busy} disabled={JSON.stringify(access) === JSON.stringify(stored)}>
          Save access
        </Button>
      </footer>
    </form>
  )
}
