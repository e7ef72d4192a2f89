import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Diff } from "../ui/json/Diff.tsx"
import { JsonField } from "../ui/json/JsonField.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { FormDialog } from "../ui/FormDialog.tsx"
import { toast } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Person } from "./queries.ts"

/** What is edited: what people say of themselves, or what operators say of them. */
export type Profile = "traits" | "metadata_public"

const profileWords: Readonly<Record<Profile, string>> = {
  traits: "Traits",
  metadata_public: "Public metadata"
}

interface ProfileFormProps {
  readonly person: Person
  readonly profile: Profile
  readonly onClose: () => void
}

/** Edits a JSON object of an account. What was changed elsewhere meanwhile is shown, and never overwritten unseen. */
export const ProfileForm = ({ onClose, person, profile }: ProfileFormProps) => {
  const queries = useQueryClient()
  const [text, setText] = useState(() => prettyJson(person[profile]))
  /** The account as the text was begun with; then as it was when the person who edits has seen it. */
  const [base, setBase] = useState(person)
  const [newest, setNewest] = useState<Person>()
  const parsed = parseObject(text)
  const run = () => {
    if ("problem" in parsed || base.updated_at === null) return undefined
    const params = { id: person.id }
    const payload = { [profile]: parsed.value, updated_at: base.updated_at }
    return call("PATCH /api/identities/:id", { params, payload }).then(
      async () => {
        await queries.invalidateQueries({ queryKey: ["people"] })
        toast(`${profileWords[profile]} saved`)
        onClose()
      },
      async (error: unknown) => {
        if (codeOf(error) === "IDENTITY_CHANGED") setNewest(await call("GET /api/identities/:id", { params }))
        throw error
      }
    )
  }
  const take = (draft: string) => {
    if (newest !== undefined) setBase(newest)
    setNewest(undefined)
    setText(draft)
  }
  return (
    <FormDialog
      title={`Edit ${profileWords[profile].toLowerCase()}`}
      verb="Save"
      failed={`${profileWords[profile]} were not saved`}
      wide
      disabled={"problem" in parsed || newest !== undefined}
      run={run}
      onClose={onClose}
    >
      <JsonField
        label={`${profileWords[profile]}, as JSON`}
        text={text}
        rows={8}
        problem={"problem" in parsed ? parsed.problem : undefined}
        hint={profile === "traits" ? "A change of email changes the address that they sign in with." : undefined}
        onText={setText}
      />
      {newest === undefined ? null : (
        <div className="note" role="alert">
          <p>The account was changed since you began. This is what changed; your draft is kept.</p>
          <Diff label="Changes by others" before={base[profile]} after={newest[profile]} />
          <div className="people-choices">
            <Button onClick={() => take(prettyJson(newest[profile]))}>Discard my draft</Button>
            <Button onClick={() => take(text)}>Keep my draft</Button>
          </div>
        </div>
      )}
    </FormDialog>
  )
}
