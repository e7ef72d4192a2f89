import { Context } from "effect"
import { type Language } from "../../domain/language/Language.ts"

/** The language of the person whose request is answered, for pages and e-mails. */
export const CurrentLanguage = Context.Reference<Language>("svc/services/CurrentLanguage", {
  defaultValue: () => "en"
})
