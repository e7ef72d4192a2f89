import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"

/** Of Standard Webhooks: 24 random bytes. */
const generate = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return `whsec_${btoa(String.fromCharCode(...bytes))}`
}

/** The text of the field, or that the secret is to go. */
interface SecretDraft {
  readonly text: string
  readonly remove: boolean
}

interface SecretFieldProps {
  readonly has: boolean
  readonly draft: SecretDraft
  readonly onChange: (draft: SecretDraft) => void
}

/** The service never returns a secret: an empty field leaves it as it is. */
export const SecretField = ({ draft, has, onChange }: SecretFieldProps) => (
  <div className="secret-field">
    <Field
      label="Secret"
      value={draft.text}
      disabled={draft.remove}
      spellCheck={false}
      autoComplete="off"
      maxLength={1024}
      placeholder={has ? "unchanged" : "none: deliveries are not signed"}
      hint={
        has
          ? "It can't be shown. What is typed here replaces it: the receiver must then know the new one."
          : "Signs deliveries, so that the receiver can verify where they come from. Copy it now: it can't be shown again."
      }
      onText={(text) => onChange({ text, remove: false })}
    />
    <div className="secret-actions">
      <Button disabled={draft.remove} onClick={() => onChange({ text: generate(), remove: false })}>
        Generate
      </Button>
      {has ? (
        <label>
          <input
            type="checkbox"
            checked={draft.remove}
            onChange={(event) => onChange({ text: "", remove: event.target.checked })}
          />
          Remove the secret
        </label>
      ) : null}
    </div>
  </div>
)
