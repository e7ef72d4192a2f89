import { Button } from "../Button.tsx"
import { Icon } from "../Icon.tsx"

interface NoticeProps {
  /** What did not work, in words of the page. */
  readonly title: string
  readonly error: unknown
  readonly onRetry: () => void
}

/** A failure beside content that is still there: one line. */
export const Notice = ({ error, onRetry, title }: NoticeProps) => (
  <div className="notice" role="alert">
    <Icon name="alert" />
    <p>
      <b>{title}.</b> {error instanceof Error ? error.message : String(error)}
    </p>
    <Button icon="refresh" onClick={onRetry}>
      Try again
    </Button>
  </div>
)
