import { type ReactNode, useLayoutEffect, useRef } from "react"

interface DialogProps {
  readonly label: string
  readonly children: ReactNode
  readonly className?: string
  /** Undefined: the dialog cannot be dismissed. */
  readonly onClose?: () => void
}

/** The platform's modal: focus is kept in it and given back, Escape closes it, the rest of the page is inert. */
export const Dialog = ({ children, className = "", label, onClose }: DialogProps) => {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    // A press on the backdrop closes it as Escape does, which the platform handles.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose?.()
      }}
    >
      {children}
    </dialog>
  )
}

/** The usual content of a dialog: a title, what it is about, and the buttons, of which the last is the verb. */
export const DialogBody = ({
  buttons,
  children,
  title
}: {
  title: string
  children: ReactNode
  buttons: ReactNode
}) => (
  <div className="dialog-body">
    <h2>{title}</h2>
    {children}
    <footer>{buttons}</footer>
  </div>
)
