import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { password } from '../../../strings/account.ts'
import { Copyable } from '../../../ui/copy-button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { CodeForm } from './code-form.tsx'

/** Asked for once per dialog: every call makes a new key. */
const useSetup = () =>
  useQuery({
    queryKey: ['second-factor', 'setup'],
    queryFn: () => unwrap(api.POST('/api/internal/user/2fa/setup')),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

/** The service draws the QR code. As an image it can neither run a script nor load anything. */
export const FactorSetup = ({ onCodes }: { onCodes: (codes: readonly string[]) => void }) => {
  const { data, error } = useSetup()
  if (error) return <ErrorNote error={error} />
  if (!data) return <Skeleton className="h-80 w-full" />
  const enable = async (code: string) => {
    const { backup_codes } = await unwrap(api.POST('/api/internal/user/2fa/enable', { body: { code } }))
    onCodes(backup_codes)
  }
  return (
    <CodeForm action={password.turnOn} onCode={enable}>
      <p className="text-muted text-sm">{password.scan}</p>
      <img
        alt={password.qr}
        src={`data:image/svg+xml,${encodeURIComponent(data.qr_svg)}`}
        className="size-48 self-center rounded-md border bg-white"
      />
      <div>
        <div className="text-muted text-xs">{password.manual}</div>
        <Copyable text={data.secret} />
      </div>
    </CodeForm>
  )
}
