import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Listed } from "./queries.ts"

interface PersonFormProps {
  readonly onClose: () => void
  /** `link`: of an invitation. */
  readonly onCreated: (person: Listed, link: string | null) => void
}

type Way = "invite" | "password" | "none"
const ways: ReadonlyArray<readonly [Way, string, string]> = [
  ["invite", "An invitation", "a link that you send them; they choose a password"],
  ["password", "A password", "that you share with them"],
  ["none", "Nothing yet", "a recovery link can be made later"]
]

export const PersonForm = ({ onClose, onCreated }: PersonFormProps) => {
  const [email, setEmail] = useState("")
  const [way, setWay] = useState<Way>("invite")
  const [password, setPassword] = useState("")
  const [verified, setVerified] = useState(false)
  const [tried, setTried] = useState(false)
  const noEmail = email.trim() === ""
  const noPassword = way === "password" && password === ""
  const save = async () => {
    const { identity, recovery_link } = await call("POST /api/identities", {
      payload: {
        email: email.trim(),
        ...(verified ? { verified } : {}),
        ...(way === "password" ? { password } : {}),
        ...(way === "invite" ? { invite: true } : {})
      }
    })
    onCreated(identity, recovery_link)
  }
  return (
    <FormDialog
      title="Create a person"
      verb="Create person"
      failed="The person was not created"
      waits
      run={() => {
        setTried(true)
        return noEmail || noPassword ? undefined : save()
      }}
      onClose={onClose}
    >
      <Field
        label="E-mail address"
        type="email"
        value={email}
        maxLength={320}
        placeholder="ann@example.com"
        autoComplete="off"
        hint="They sign in with it."
        problem={tried && noEmail ? "An address is needed" : undefined}
        onText={setEmail}
      />
      <fieldset className="choices">
        <legend>They sign in first with</legend>
        {ways.map(([value, name, words]) => (
          <label key={value}>
            <input type="radio" name="way" checked={way === value} onChange={() => setWay(value)} />
            <b>{name}</b> <span>{words}</span>
          </label>
        ))}
      </fieldset>
      {way === "password" ? (
        <Field
          label="Password"
          type="password"
          autoComplete="new-password"
          value={password}
          hint="At least 8 characters, and not one that attackers try first."
          problem={tried && noPassword ? "A password is needed" : undefined}
          onText={setPassword}
        />
      ) : null}
      <label className="people-check">
        <input type="checkbox" checked={verified} onChange={({ target }) => setVerified(target.checked)} />
        The address is theirs: treat it as verified
      </label>
    </FormDialog>
  )
}
