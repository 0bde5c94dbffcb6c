import { oauth } from '../../../strings/oauth.ts'
import { Checkbox } from '../../../ui/checkbox.tsx'
import type { AskedScope } from './grantable.ts'

type Props = {
  scopes: readonly AskedScope[]
  mayGrant: (scope: AskedScope) => boolean
  chosen: readonly string[]
  onChosen: (name: string, chosen: boolean) => void
}

export const ScopeList = ({ scopes, mayGrant, chosen, onChosen }: Props) => (
  <fieldset className="flex flex-col gap-2">
    <legend className="mb-2 font-medium text-sm">{oauth.scopes}</legend>
    {scopes.map((scope) => {
      const { name, description } = scope
      const granted = mayGrant(scope)
      return (
        <Checkbox
          key={name}
          checked={chosen.includes(name)}
          disabled={!granted}
          onChecked={(on) => onChosen(name, on)}
          label={
            <>
              {description} <span className="break-all font-mono text-muted text-xs">{name}</span>
              {!granted && <span className="block text-muted text-xs">{oauth.scopeNeedsRole}</span>}
            </>
          }
        />
      )
    })}
  </fieldset>
)
