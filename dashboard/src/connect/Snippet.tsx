import { Button } from "../ui/Button.tsx"
import { copy } from "../ui/toast.ts"

/** A text to take elsewhere. */
export const Snippet = ({ label, text }: { label: string; text: string }) => (
  <div className="connect-snippet">
    {/* A region that scrolls must be reachable by keyboard. */}
    {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
    <pre className="code" tabIndex={0} aria-label={label}>
      {text}
    </pre>
    <Button kind="quiet" icon="copy" onClick={() => void copy(text, label)}>
      Copy
    </Button>
  </div>
)
