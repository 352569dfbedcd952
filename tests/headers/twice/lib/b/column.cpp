namespace ours {
namespace {
struct Row {};
}  // namespace
class Column final {};
struct Row {};
}  // namespace ours
