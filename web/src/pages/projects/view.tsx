import { FormResourcePage } from '../../parts/resource/form-resource-list.tsx'
import { projects } from '../../strings/projects.ts'
import { projectKind } from './project-kind.tsx'

const ProjectsPage = () => <FormResourcePage resource={projectKind} help={projects.help} />

export default ProjectsPage
